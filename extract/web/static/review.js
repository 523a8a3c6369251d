// Reviews by keyboard: each key presses the button that it is printed on, and only the part that changed is swapped.
// Keys are dead while a person types (`onKey`), while a verdict is being saved, and while they are held: one press, one
// item. What is saved, and when, the server says.

import { csrf, onKey, say } from "./site.js";

const KEYS = ["a", "c", "d", "h", "j", "k", "l", "m", "n", "u", "x", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
let busy = false;
let selection = null;

const part = () => document.getElementById("review");
const abstract = () => document.getElementById("abstract");

function seen(element) {
  return element.getClientRects().length > 0;
}

function press(key) {
  if (busy) return;
  const form = part().querySelector(`details[data-form="${key}"]`);
  if (form) {
    toggle(form);
    return;
  }
  const target = [...part().querySelectorAll(`[data-press="${key}"]`)].find((one) => seen(one) && !one.disabled);
  target?.click();
}

/** Open a form and go into it, and close the others; or close it if it is open. */
function toggle(details) {
  const open = !details.open;
  for (const other of part().querySelectorAll("details[data-form]")) other.open = false;
  details.open = open;
  if (!open) return;
  if (details.id === "add") fill(details);
  [...details.querySelectorAll("input:not([type=hidden]):not([disabled]), textarea, form button")].find(seen)?.focus();
}

/** Put what is selected in the abstract into the form that adds a claim. */
function fill(details) {
  if (!selection) return;
  for (const form of details.querySelectorAll("form"))
    for (const name of ["quote", "start", "end"]) if (form.elements[name]) form.elements[name].value = selection[name];
}

/** The offsets of the selection in the abstract, in code points as the server counts; null if it is elsewhere. */
function selected() {
  const found = document.getSelection();
  const text = abstract();
  if (!text || !found || found.isCollapsed || found.rangeCount === 0) return null;
  const range = found.getRangeAt(0);
  if (!text.contains(range.startContainer) || !text.contains(range.endContainer)) return null;
  const before = range.cloneRange();
  before.selectNodeContents(text);
  before.setEnd(range.startContainer, range.startOffset);
  const start = [...before.toString()].length;
  const quote = range.toString();
  return { start, end: start + [...quote].length, quote: quote.trim() };
}

async function swap(url, options = {}) {
  if (busy) return;
  busy = true;
  part().setAttribute("aria-busy", "true");
  try {
    const response = await fetch(url, { ...options, headers: { "HX-Request": "true", "X-CSRF-Token": csrf(), ...options.headers } });
    const body = await response.text();
    const page = new DOMParser().parseFromString(body, "text/html");
    const found = page.getElementById("review");
    if (!found) {
      if (response.redirected && response.ok) location.assign(response.url);
      else throw new Error(body.slice(0, 200));
      return;
    }
    part().replaceWith(document.adoptNode(found));
    selection = null;
    if (response.ok) history.replaceState(null, "", response.url);
    arrived();
  } catch (error) {
    trouble(`Not saved: ${error.message || "the server can't be reached"}. Try again.`);
  } finally {
    busy = false;
    part().removeAttribute("aria-busy");
  }
}

function trouble(text) {
  part().querySelector("#trouble")?.remove();
  const line = document.createElement("p");
  line.id = "trouble";
  line.className = "fault";
  line.setAttribute("role", "alert");
  line.textContent = text;
  part().prepend(line);
}

/** Say where the review is now, bring the claim into view, and give the keyboard to it. */
function arrived() {
  kinds();
  const fault = part().querySelector(".fault");
  const open = part().querySelector("details[data-form][open]");
  const card = document.getElementById("card");
  const field = [...(open?.querySelectorAll("input:not([type=hidden]):not([disabled]), textarea") ?? [])].find(seen);
  (field ?? card)?.focus({ preventScroll: true });
  part().querySelector("mark.now")?.scrollIntoView({ block: "nearest" });
  const saved = document.getElementById("saved");
  const title = card?.querySelector("h2");
  say(fault ? fault.textContent : `${saved?.textContent ?? ""}. Now: ${title?.textContent ?? ""}`.replace(/\s+/g, " "));
}

/** Show the fields that a number has only where a number is added; of a schema of one's own, the form of that kind. */
function kinds() {
  const kind = part()?.querySelector("[data-kind]");
  if (!kind) return;
  const add = kind.closest("details");
  const fields = add.querySelector(".of-numbers");
  if (fields) fields.hidden = kind.value !== "headline_numbers";
  for (const one of add.querySelectorAll("[data-scripted]")) one.hidden = false;
  for (const one of add.querySelectorAll("[data-plain]")) one.hidden = true;
  for (const form of add.querySelectorAll("[data-form-of]")) form.hidden = form.dataset.formOf !== kind.value;
}

for (const key of KEYS) onKey(key, () => press(key));

document.addEventListener("selectionchange", () => {
  const found = selected();
  if (found) selection = found;
  else if (document.getSelection()?.isCollapsed && abstract()?.contains(document.getSelection().anchorNode)) selection = null;
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const open = event.target.closest?.("details[data-form][open]") ?? part()?.querySelector("details[data-form][open]");
  if (!open) return;
  open.open = false;
  document.getElementById("card")?.focus();
});

document.addEventListener("click", (event) => {
  const summary = event.target.closest?.("details[data-form] > summary");
  if (summary) {
    event.preventDefault();
    toggle(summary.parentElement);
    return;
  }
  const link = event.target.closest?.("a[data-part]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    swap(link.href);
    return;
  }
  const mark = event.target.closest?.("mark[data-entry]");
  if (mark && document.getSelection()?.isCollapsed) part().querySelectorAll(".entries a")[Number(mark.dataset.entry)]?.click();
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!part()?.contains(form) || form.method !== "post") return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  swap(form.action, { method: "POST", body });
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-kind]")) kinds();
});

kinds();
