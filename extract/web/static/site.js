// What every page has: the CSRF token on htmx's requests, and keys that lead from page to page.
// Keys do nothing while a person types, or holds a modifier. A page adds its own with `onKey`; a link has its key in
// `data-key`, or in `data-go` if g comes first.

const keys = new Map();
let after = "";

/** Call `act` when `key` is pressed, but while typing; `first` is a key that must come just before it. */
export function onKey(key, act, first = "") {
  keys.set(first + key, act);
}

/** Tell people who don't see the page what has happened. */
export function say(text) {
  const said = document.getElementById("said");
  if (said) said.textContent = text;
}

export function csrf() {
  return document.querySelector('meta[name="csrf"]')?.content ?? "";
}

function isTyping(target) {
  return target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
}

// Looked up when it is pressed, as htmx may have put other links in the place of those that were there.
function linked(kind, key) {
  const link = document.querySelector(`a[data-${kind}="${CSS.escape(key)}"]`);
  return link ? () => link.click() : undefined;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) return;
  const act = keys.get(after + event.key) ?? linked(after ? "go" : "key", event.key);
  after = event.key === "g" && !after ? "g" : "";
  if (act) {
    event.preventDefault();
    act(event);
  }
});

onKey("/", () => document.querySelector("[data-search]")?.focus());

document.addEventListener("htmx:config:request", (event) => {
  event.detail.ctx.request.headers["X-CSRF-Token"] = csrf();
});
document.addEventListener("htmx:after:swap", () => {
  const found = document.querySelector("#claims .bar-above p");
  if (found) say(found.textContent.trim());
});
