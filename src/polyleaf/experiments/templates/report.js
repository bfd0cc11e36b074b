"use strict";
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const heads = [...table.tHead.rows[0].cells];
  const sort = (head, column) => {
    const now = head.getAttribute("aria-sort");
    const turned = { ascending: "descending", descending: "ascending" };
    const order = now ? turned[now] : head.dataset.first;
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", order);
    const key = (row) => {
      const cell = row.cells[column];
      const text = cell.dataset.value ?? cell.textContent.trim();
      const number = text === "" ? NaN : Number(text);
      return Number.isNaN(number) ? text : number;
    };
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
      return (x < y ? -1 : x > y ? 1 : 0) * sign;
    });
    table.tBodies[0].append(...rows);
  };
  heads.forEach((head, column) => {
    head.addEventListener("click", () => sort(head, column));
  });
}
for (const input of document.querySelectorAll("input[data-filter]")) {
  const id = input.dataset.filter;
  const rows = [...document.getElementById(id).tBodies[0].rows];
  const boxes = [...document.querySelectorAll(`[data-groups="${id}"] input`)];
  const count = document.querySelector(`[data-count="${id}"]`);
  const filter = () => {
    const wanted = input.value.trim().toLowerCase();
    const groups = boxes.filter((box) => box.checked).map((box) => box.value);
    for (const row of rows) {
      const isFound = row.cells[0].firstChild.textContent.toLowerCase().includes(wanted);
      row.hidden = !(isFound && groups.includes(row.dataset.group));
    }
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} methods`;
  };
  [input, ...boxes].forEach((one) => one.addEventListener("input", filter));
  filter();
}
