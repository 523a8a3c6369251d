// Keeps the page of a run that goes on: the server sends its changing part anew after each batch that is saved.

import { say } from "./site.js";

const going = document.getElementById("going");
const trouble = document.getElementById("trouble");
const events = new EventSource(going.dataset.events);

events.addEventListener("part", (event) => {
  going.innerHTML = event.data; // our own template's, with everything in it escaped
  trouble.hidden = true;
});
events.addEventListener("trouble", (event) => {
  trouble.textContent = event.data;
  trouble.hidden = false;
});
events.addEventListener("ended", () => {
  events.close();
  say("The run has ended.");
});
