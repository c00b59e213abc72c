"use strict";

// -- comments: j and k go from one to the next

const stops = [...document.querySelectorAll("[data-stop]")];
let here = -1;

function go(step) {
  if (!stops.length) return;
  stops[here]?.classList.remove("here");
  here = Math.min(Math.max(here + step, 0), stops.length - 1);
  stops[here].classList.add("here");
  stops[here].scrollIntoView({ block: "center" });
}

// -- links into code: what they lead to is folded away

function unfold() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
addEventListener("hashchange", unfold);
unfold();

// -- diffs side by side: made of the unified table when it is wanted

function cell(className, text) {
  const made = document.createElement("td");
  made.className = className;
  if (className.startsWith("n")) made.textContent = text;
  else made.appendChild(document.createElement("code")).textContent = text;
  return made;
}

function half(row, side) {
  if (!row) return [cell("n none", ""), cell("none", "")];
  const kind = row.className;
  return [cell(`n ${kind}`, row.cells[side].textContent), cell(kind, row.cells[3].textContent)];
}

function paired(body) {
  const made = document.createElement("tbody");
  const rows = [...body.rows];
  for (let at = 0; at < rows.length; ) {
    const row = rows[at];
    if (row.className === "hunk") {
      made.appendChild(row.cloneNode(true));
      at += 1;
    } else if (row.className === "") {
      made.insertRow().append(...half(row, 0), ...half(row, 1));
      at += 1;
    } else {
      const gone = [], come = [];
      while (rows[at]?.className === "del") gone.push(rows[at++]);
      while (rows[at]?.className === "add") come.push(rows[at++]);
      for (let i = 0; i < Math.max(gone.length, come.length); i += 1) {
        made.insertRow().append(...half(gone[i], 0), ...half(come[i], 1));
      }
    }
  }
  return made;
}

function split(table) {
  const made = document.createElement("table");
  made.className = "lines split";
  const columns = made.appendChild(document.createElement("colgroup"));
  for (const name of ["n", "", "n", ""]) {
    columns.appendChild(document.createElement("col")).className = name;
  }
  for (const body of table.tBodies) made.appendChild(paired(body));
  return made;
}

function showSides(card, wanted) {
  for (const scroll of card.querySelectorAll(".file > .scroll")) {
    const unified = scroll.querySelector("table:not(.split)");
    let sides = scroll.querySelector("table.split");
    if (wanted && !sides) sides = scroll.appendChild(split(unified));
    unified.hidden = wanted;
    if (sides) sides.hidden = !wanted;
  }
  card.querySelector(".sides").setAttribute("aria-pressed", String(wanted));
}

const cards = [...document.querySelectorAll(".diff")].filter((card) => card.querySelector(".sides"));
for (const card of cards) {
  const button = card.querySelector(".sides");
  button.hidden = false;
  button.addEventListener("click", () => showSides(card, button.getAttribute("aria-pressed") !== "true"));
}

function showAllSides() {
  const wanted = cards.some((card) => card.querySelector(".sides").getAttribute("aria-pressed") !== "true");
  for (const card of cards) showSides(card, wanted);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "j") go(1);
  else if (event.key === "k") go(-1);
  else if (event.key === "s") showAllSides();
});

// -- actions: what they tell can be copied

for (const button of document.querySelectorAll(".copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = button.closest(".action").querySelector("pre");
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      // A page from the disk may not write there in every browser: then it is marked to be copied.
      getSelection().selectAllChildren(text);
    }
  });
}

// -- print everything, also what is folded

addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details:not([open])")) {
    if (each.closest(".drawn")) continue;
    each.open = true;
    each.dataset.folded = "";
  }
});
addEventListener("afterprint", () => {
  for (const each of document.querySelectorAll("[data-folded]")) {
    each.open = false;
    delete each.dataset.folded;
  }
});

// -- diagrams

const dark = matchMedia("(prefers-color-scheme: dark)");

async function draw() {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    secure: ["secure", "securityLevel", "startOnLoad", "maxTextSize", "suppressErrorRendering", "maxEdges", "themeCSS", "htmlLabels"],
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    suppressErrorRendering: true,
    theme: dark.matches ? "dark" : "default",
    fontFamily: "system-ui, sans-serif",
  });
  let number = 0;
  for (const figure of document.querySelectorAll(".diagram")) {
    const drawing = figure.querySelector(".drawing"), fault = figure.querySelector(".missing");
    const source = figure.querySelector("details");
    try {
      const { svg } = await mermaid.render(`drawing-${number++}`, source.querySelector("pre").textContent);
      const parsed = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
      // A diagram leads nowhere and loads nothing.
      for (const each of parsed.querySelectorAll("image, img, script")) each.remove();
      for (const each of parsed.querySelectorAll("a")) each.replaceWith(...each.childNodes);
      // A wide diagram is moved in its frame on a small screen, and not made too small to be read.
      parsed.style.minWidth = `${Math.min(parsed.viewBox.baseVal.width, 640)}px`;
      drawing.replaceChildren(document.importNode(parsed, true));
      drawing.hidden = false;
      if (!figure.classList.contains("drawn")) source.open = false;
      figure.classList.add("drawn");
      fault.hidden = true;
    } catch (error) {
      fault.textContent = `This diagram cannot be drawn: ${error.message}`;
      fault.hidden = false;
    }
  }
  document.body.dataset.drawn = "";
}

if (typeof mermaid !== "undefined") {
  dark.addEventListener("change", draw);
  draw();
}
