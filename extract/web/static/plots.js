// Draws each plot of a page from the specification in it. The interpreter evaluates Vega's expressions, so that the page
// needs no `eval`, which the Content-Security-Policy refuses.

import { expressionInterpreter } from "./vendor/vega-interpreter.js";

function look() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const text = { labelColor: colour("text"), titleColor: colour("quiet"), labelFont: "system-ui", titleFont: "system-ui" };
  return {
    background: "transparent",
    font: "system-ui",
    view: { stroke: null },
    axisQuantitative: { tickCount: 8 },
    axis: { ...text, gridColor: colour("line"), domainColor: colour("line-strong"), tickColor: colour("line-strong"),
      labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500, titlePadding: 8 },
    legend: { ...text, labelFontSize: 12, titleFontSize: 12 },
    mark: { color: colour("accent") },
    bar: { color: colour("accent") },
    point: { color: colour("accent") },
    line: { color: colour("accent") },
    boxplot: { box: { color: colour("accent") }, median: { color: colour("text") }, rule: { color: colour("line-strong") } },
  };
}

async function draw(figure) {
  const { vega, vegaLite } = globalThis;
  const spec = JSON.parse(figure.querySelector("script.spec").textContent);
  const compiled = vegaLite.compile({ ...spec, autosize: { type: "fit-x", contains: "padding" } }, { config: look() }).spec;
  const view = new vega.View(vega.parse(compiled, null, { ast: true }), {
    container: figure.querySelector(".canvas"),
    expr: expressionInterpreter,
    renderer: "svg",
    hover: true,
  });
  await view.runAsync();
  view.addEventListener("click", (_, item) => {
    if (item?.datum?.href) location.href = item.datum.href;
  });
  figure.view = view;
  return view;
}

async function save(figure, kind) {
  const url = await figure.view.toImageURL(kind, kind === "png" ? 2 : 1);
  const link = Object.assign(document.createElement("a"), { href: url, download: `${figure.dataset.plot}.${kind}` });
  link.click();
}

function drawAll(root) {
  for (const figure of root.querySelectorAll("[data-plot]")) {
    figure.view?.finalize();
    draw(figure).then(() => (figure.dataset.drawn = "yes"));
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-save]");
  if (button) save(button.closest("[data-plot]"), button.dataset.save);
});
document.addEventListener("htmx:after:swap", () => drawAll(document));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(document));
for (const form of document.querySelectorAll("form[data-submit-on-change]"))
  form.addEventListener("change", () => form.requestSubmit());

drawAll(document);
