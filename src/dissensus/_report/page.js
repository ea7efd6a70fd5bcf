"use strict";
(() => {
  const control = document.querySelector(".control");
  if (!control) return;
  const range = control.querySelector("input");
  const output = control.querySelector("output");
  const values = range.dataset.values.split(" ");
  const show = () => {
    const at = range.value;
    output.value = values[at];
    range.setAttribute("aria-valuetext", values[at]);
    for (const part of document.querySelectorAll("[data-at]")) {
      part.hidden = part.dataset.at !== at;
    }
    for (const mark of document.querySelectorAll("svg g[id*='-at-']")) {
      mark.classList.toggle("mark", mark.id.endsWith("-at-" + at));
    }
  };
  control.hidden = false;
  control.addEventListener("submit", (event) => event.preventDefault());
  range.addEventListener("input", show);
  show();
})();
