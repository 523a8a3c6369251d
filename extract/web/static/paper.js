// Ties the marks of an abstract to the claims beside it: what is pointed at, or has the focus, is lit on both sides.

import { onKey } from "./site.js";

const tied = [...document.querySelectorAll("[data-ties]")];
const claims = [...document.querySelectorAll(".claims > li, .names > li")];
let lit = [];

function ties(element) {
  return element.dataset.ties.split(" ");
}

function light(source) {
  for (const element of lit) element.classList.remove("lit");
  const wanted = source ? new Set(ties(source)) : new Set();
  const section = source?.closest(".answer");
  lit = tied.filter((element) => element.closest(".answer") === section && ties(element).some((one) => wanted.has(one)));
  for (const element of lit) element.classList.add("lit");
}

for (const element of tied) {
  element.addEventListener("pointerenter", () => light(element));
  element.addEventListener("pointerleave", () => light(document.activeElement?.closest("[data-ties]")));
  element.addEventListener("focus", () => light(element));
  element.addEventListener("blur", () => light(null));
}

for (const mark of document.querySelectorAll("mark[data-ties]")) {
  mark.addEventListener("click", () => {
    const claim = claims.find((one) => ties(mark).includes(one.dataset.ties));
    claim?.focus({ preventScroll: false });
  });
}

function move(by) {
  const at = claims.indexOf(document.activeElement);
  const next = claims[at < 0 ? (by > 0 ? 0 : claims.length - 1) : (at + by + claims.length) % claims.length];
  next?.focus();
}

onKey("j", () => move(1));
onKey("k", () => move(-1));

// A link from the table of claims ends in the number of the claim.
if (location.hash.startsWith("#c")) document.getElementById(location.hash.slice(1))?.focus();
