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
(() => {
  // Cells are sorted by the number with which they begin; cells without one come last.
  const number = /^[<>≥≤~ ]*([-\u2212]?(?:\d[\d,]*\.?\d*|\.\d+))/;
  const key = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const match = number.exec(text);
    return { text, value: match ? Number(match[1].replace("\u2212", "-").replaceAll(",", "")) : NaN };
  };
  const compare = (a, b, sign) => {
    const known = [a, b].map((cell) => !Number.isNaN(cell.value));
    if (known[0] !== known[1]) return known[0] ? -1 : 1;
    const by = known[0] ? a.value - b.value : 0;
    return sign * (by || a.text.localeCompare(b.text, undefined, { numeric: true }));
  };
  const sort = (table, column, sign) => {
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("group"));
      const keys = new Map(rows.map((row) => [row, key(row, column)]));
      rows.sort((a, b) => compare(keys.get(a), keys.get(b), sign));
      body.append(...rows);
    }
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "descending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "ascending" : "descending");
        sort(table, column, down ? 1 : -1);
      });
    });
  }
})();
(() => {
  // Closed sections are opened for printing.
  const closed = () => document.querySelectorAll("details:not([open])");
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...closed()];
    opened.forEach((section) => { section.open = true; });
  });
  window.addEventListener("afterprint", () => {
    opened.forEach((section) => { section.open = false; });
  });
})();
