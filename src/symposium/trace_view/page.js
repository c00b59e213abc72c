"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const index = JSON.parse(byId("index").textContent);
  const bodies = byId("bodies").textContent.split("\n");
  // A row, as the index lists it.
  const LINE = 0, KIND = 1, TS = 2, FROM = 3, TO = 4, METHOD = 5, SESSION = 6, PROTOCOL = 7,
    BODY = 8, ANSWERS = 9, ERROR = 10, ID = 11, WORDS = 12;
  const REQUEST = 0, RESPONSE = 1;
  const KINDS = ["request", "response", "notification"];
  const NAMES = ["Request", "Answer", "Notification"];
  const PROTOCOLS = ["", "acp", "mcp"];
  const rows = index.rows;
  const place = new Array(index.lanes.length);
  index.order.forEach((lane, at) => { place[lane] = at; });
  const lanes = index.order.map((lane) => index.lanes[lane]);
  const answerOf = new Map();
  rows.forEach((row, at) => { if (row[ANSWERS] >= 0) answerOf.set(row[ANSWERS], at); });

  let shown = [];
  let chosen = -1;
  let laneWidth = 0;
  let isOwnWidth = false;

  const make = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const seconds = (ts) => `${ts.toFixed(3)}s`;
  const span = (value) => Math.abs(value) < 1 ? `${(value * 1000).toFixed(1)}ms` : `${value.toFixed(2)}s`;
  const mateOf = (at) => rows[at][KIND] === RESPONSE ? rows[at][ANSWERS] : answerOf.get(at) ?? -1;
  const leg = (row) => [place[row[FROM]], place[row[TO]]].sort((a, b) => a - b).join("-");
  // One color for a request, its answer, and their other legs; red is for errors.
  const hue = (row) => {
    let number = parseInt(row[ID], 10);
    if (Number.isNaN(number)) number = [...row[ID]].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 9973, 7);
    return 30 + number * 137.508 % 300;
  };

  // -- what is shown

  const fill = (select, pairs) => {
    select.replaceChildren(...[["", "all"], ...pairs].map(([value, name]) => {
      const option = make("option", "", name);
      option.value = value;
      return option;
    }));
  };
  const numbered = (names, word) => names
    .map((name, at) => [String(at), name || word])
    .sort((a, b) => a[1] < b[1] ? -1 : 1);
  fill(byId("method"), numbered(index.methods, "(unknown)"));
  fill(byId("session"), numbered(index.sessions, "(none)"));
  fill(byId("leg"), [...new Set(rows.map(leg))].sort((a, b) => parseInt(a) - parseInt(b) || (a < b ? -1 : 1))
    .map((key) => [key, key.split("-").map((at) => lanes[at]).join(" — ")]));

  const textMatcher = () => {
    const wanted = byId("text").value.trim();
    if (!wanted) return null;
    const plain = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const inJson = JSON.stringify(wanted).slice(1, -1).replaceAll("<", "\\u003c");
    const inBody = new RegExp(plain(inJson), "i");
    const inWords = new RegExp(plain(wanted), "i");
    const known = new Map();
    return (row) => {
      if (inWords.test(index.methods[row[METHOD]]) || inWords.test(row[WORDS])) return true;
      if (!known.has(row[BODY])) known.set(row[BODY], inBody.test(bodies[row[BODY]] ?? ""));
      return known.get(row[BODY]);
    };
  };

  const select = () => {
    const method = byId("method").value, session = byId("session").value;
    const between = byId("leg").value, protocol = byId("protocol").value;
    const kinds = [0, 1, 2].map((kind) => byId(`kind${kind}`).checked);
    const errorsOnly = byId("errors").checked, matches = textMatcher();
    shown = [];
    rows.forEach((row, at) => {
      if (kinds[row[KIND]]
        && (!method || row[METHOD] === +method) && (!session || row[SESSION] === +session)
        && (!protocol || row[PROTOCOL] === +protocol) && (!between || leg(row) === between)
        && (!errorsOnly || row[ERROR]) && (!matches || matches(row))) shown.push(at);
    });
    const all = rows.length.toLocaleString("en");
    byId("count").textContent = shown.length === rows.length
      ? `${all} messages` : `${shown.length.toLocaleString("en")} of ${all} messages`;
    byId("none").hidden = shown.length > 0;
    draw();
  };

  // -- the diagram: only the rows on the screen exist

  const scroll = byId("scroll"), space = byId("space"), list = byId("rows");
  const isNarrow = () => window.matchMedia("(max-width: 720px)").matches;
  const rowHeight = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));

  const layOut = () => {
    const room = scroll.clientWidth;
    if (isNarrow()) laneWidth = Math.max(26, Math.floor((room - 84) / lanes.length));
    else {
      if (!isOwnWidth) byId("width").value = Math.max(44, Math.min(120, room * .45 / lanes.length));
      laneWidth = +byId("width").value;
    }
    laneWidth -= laneWidth % 2; // half of it is where a line of one pixel stands
    const root = document.documentElement.style;
    root.setProperty("--lane", `${laneWidth}px`);
    root.setProperty("--lanes", lanes.length);
    byId("heads").replaceChildren(...lanes.map((name) => {
      const short = name.replace("Client", "C").replace("Agent", "A").replace(/Proxy\((\d+)\)/, "P$1");
      const head = make("span", "", laneWidth < 66 ? short : name);
      head.title = name;
      return head;
    }));
    draw();
  };

  const arrowOf = (row) => {
    const from = place[row[FROM]], to = place[row[TO]];
    const arrow = make("i", from <= to ? "arrow right" : "arrow left");
    arrow.style.left = `${(Math.min(from, to) + .5) * laneWidth}px`;
    arrow.style.width = `${Math.max(Math.abs(to - from) * laneWidth, 14)}px`;
    return arrow;
  };

  const wordsOf = (at) => {
    const row = rows[at], said = make("span", "said");
    if (row[ERROR]) said.append(make("span", "tag bad", "error"));
    if (row[PROTOCOL] === 2) said.append(make("span", "tag", "mcp"));
    if (row[KIND] === RESPONSE) said.append(make("span", "swatch", "↩ "));
    said.append(make("b", "", index.methods[row[METHOD]] || "?"));
    if (row[ID]) said.append(make("span", "quiet", ` #${row[ID].replace(/^"|"$/g, "").slice(0, 12)}`));
    if (row[ANSWERS] >= 0) said.append(make("span", "quiet", ` after ${span(row[TS] - rows[row[ANSWERS]][TS])}`));
    if (row[WORDS]) said.append(make("span", "words", row[WORDS]));
    return said;
  };

  const rowAt = (number) => {
    const at = shown[number], row = rows[at];
    const element = make("div", `row ${KINDS[row[KIND]]}`);
    element.id = `row-${at}`;
    element.setAttribute("role", "option");
    element.setAttribute("aria-selected", at === chosen);
    element.setAttribute("aria-setsize", shown.length);
    element.setAttribute("aria-posinset", number + 1);
    element.setAttribute("aria-label",
      `${NAMES[row[KIND]]} ${index.methods[row[METHOD]]} from ${index.lanes[row[FROM]]} to ${index.lanes[row[TO]]} ${row[WORDS]}`);
    if (row[KIND] !== 2) {
      element.classList.add("paired");
      element.style.setProperty("--hue", hue(row).toFixed(0));
    }
    if (row[ERROR]) element.classList.add("error");
    if (at === chosen) element.classList.add("chosen");
    else if (chosen >= 0 && mateOf(chosen) === at) element.classList.add("mate");
    const before = number ? rows[shown[number - 1]][TS] : row[TS];
    const lane = make("span", "lanes");
    lane.append(arrowOf(row));
    element.append(make("span", "time", seconds(row[TS])), make("span", "delta", `+${span(row[TS] - before)}`),
      lane, wordsOf(at));
    element.addEventListener("click", () => { choose(number); open(); });
    return element;
  };

  function draw() {
    const height = rowHeight(), first = Math.max(0, Math.floor((scroll.scrollTop - space.offsetTop) / height) - 4);
    const last = Math.min(shown.length, first + Math.ceil(scroll.clientHeight / height) + 10);
    space.style.height = `${shown.length * height}px`;
    list.style.transform = `translateY(${first * height}px)`;
    const made = [];
    for (let number = first; number < last; number += 1) made.push(rowAt(number));
    list.replaceChildren(...made);
    const active = document.getElementById(`row-${chosen}`);
    if (active) scroll.setAttribute("aria-activedescendant", active.id);
    else scroll.removeAttribute("aria-activedescendant");
  }

  let isDue = false;
  const drawSoon = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => { isDue = false; draw(); });
  };

  // -- one message

  const choose = (number) => {
    if (!shown.length) return;
    const within = Math.max(0, Math.min(shown.length - 1, number));
    chosen = shown[within];
    if (byId("detail").hidden) { bringIntoView(within); draw(); } else open();
  };

  const bringIntoView = (number) => {
    const height = rowHeight(), top = space.offsetTop + number * height;
    const covered = byId("heads").offsetHeight;
    const sheet = isNarrow() && !byId("detail").hidden ? byId("detail").offsetHeight : 0;
    const room = scroll.clientHeight - sheet;
    // A sheet over the list leaves the last rows no place to go but up.
    space.style.marginBottom = `${sheet}px`;
    if (top - covered < scroll.scrollTop) scroll.scrollTop = top - covered;
    else if (top + height > scroll.scrollTop + room) scroll.scrollTop = top + height - room;
  };

  const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
  // Numbers and escapes stay as they were written, which JSON.parse would not keep.
  const pretty = (text) => {
    const parts = document.createDocumentFragment();
    const tokens = text.match(TOKENS) ?? [];
    let depth = 0;
    const newLine = () => `\n${"  ".repeat(depth)}`;
    tokens.forEach((token, at) => {
      const next = tokens[at + 1], before = tokens[at - 1];
      if (token === "{" || token === "[") {
        depth += 1;
        parts.append(token, next === "}" || next === "]" ? "" : newLine());
      } else if (token === "}" || token === "]") {
        depth = Math.max(0, depth - 1);
        parts.append(before === "{" || before === "[" ? "" : newLine(), token);
      } else if (token === ",") parts.append(",", newLine());
      else if (token === ":") parts.append(": ");
      else if (token[0] === '"') {
        const written = token.replace(/\\\\|\\u003c/g, (found) => found === "\\\\" ? found : "<");
        parts.append(make("span", next === ":" ? "k" : "s", written));
      } else parts.append(make("span", "n", token));
    });
    return parts;
  };

  function open() {
    if (chosen < 0) return;
    const row = rows[chosen], mate = mateOf(chosen);
    byId("what").textContent = `${NAMES[row[KIND]]}: ${index.methods[row[METHOD]] || "?"}`;
    const facts = [
      ["From", `${index.lanes[row[FROM]]} → ${index.lanes[row[TO]]}`],
      ["At", `${row[TS].toFixed(6)}s, line ${row[LINE]}`],
      ["Id", row[ID]], ["Session", index.sessions[row[SESSION]]],
      ["Protocol", PROTOCOLS[row[PROTOCOL]]],
      [row[KIND] === RESPONSE ? "Took" : "Answered after", mate < 0 ? (row[KIND] === REQUEST ? "no answer here" : "") : span(Math.abs(rows[mate][TS] - row[TS]))],
    ].filter(([, value]) => value);
    byId("facts").replaceChildren(...facts.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
    byId("mate").hidden = mate < 0;
    byId("mate").textContent = row[KIND] === RESPONSE ? "Go to the request" : "Go to the answer";
    let text = bodies[row[BODY]] ?? "";
    const cut = /^!(\d+) /.exec(text);
    byId("cut").hidden = !cut;
    if (cut) {
      byId("cut").textContent = `${(+cut[1]).toLocaleString("en")} bytes; the page holds the first of them, line ${row[LINE]} of the file all.`;
      text = JSON.parse(text.slice(cut[0].length));
    }
    byId("body").replaceChildren(cut ? text : pretty(text));
    byId("detail").hidden = false;
    byId("detail").scrollTop = 0;
    bringIntoView(shown.indexOf(chosen));
    draw();
  }

  const close = () => { byId("detail").hidden = true; space.style.marginBottom = ""; scroll.focus(); draw(); };

  const goToMate = () => {
    const mate = chosen < 0 ? -1 : mateOf(chosen);
    if (mate < 0) return;
    let number = shown.indexOf(mate);
    if (number < 0) {
      byId("filters").reset();
      select();
      number = shown.indexOf(mate);
    }
    choose(number);
  };

  // -- what a person does

  const page = () => Math.max(1, Math.floor(scroll.clientHeight / rowHeight()) - 1);
  const MOVES = {
    ArrowDown: (at) => at + 1, j: (at) => at + 1, ArrowUp: (at) => at - 1, k: (at) => at - 1,
    PageDown: (at) => at + page(), PageUp: (at) => at - page(), Home: () => 0, End: () => shown.length - 1,
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !byId("detail").hidden) { close(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape" && isTyping) { scroll.focus(); return; }
    if (isTyping) return;
    if (event.key === "/") {
      event.preventDefault();
      showFilters(true);
      byId("text").focus();
      return;
    }
    if (event.target.closest("button, pre, aside") && event.key !== "p") return;
    const move = MOVES[event.key];
    if (move) { event.preventDefault(); choose(move(shown.indexOf(chosen))); }
    else if (event.key === "Enter" || event.key === " ") { event.preventDefault(); if (chosen < 0) choose(0); open(); }
    else if (event.key === "p") goToMate();
  });

  const showFilters = (isOpen) => {
    byId("filters").classList.toggle("open", isOpen);
    byId("more").setAttribute("aria-expanded", isOpen);
  };
  byId("more").addEventListener("click", () => showFilters(!byId("filters").classList.contains("open")));

  let typed = 0;
  byId("filters").addEventListener("input", (event) => {
    if (event.target.id === "width") { isOwnWidth = true; layOut(); return; }
    clearTimeout(typed);
    typed = setTimeout(select, event.target.id === "text" ? 150 : 0);
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", () => setTimeout(() => { isOwnWidth = false; select(); layOut(); }));
  byId("mate").addEventListener("click", goToMate);
  byId("close").addEventListener("click", close);
  byId("copy").addEventListener("click", () => {
    const range = document.createRange(), marked = getSelection();
    range.selectNodeContents(byId("body"));
    marked.removeAllRanges();
    marked.addRange(range);
    byId("copy").textContent = document.execCommand("copy") ? "Copied" : "Marked: copy it now";
    setTimeout(() => { byId("copy").textContent = "Copy"; }, 1500);
  });
  scroll.addEventListener("scroll", drawSoon, { passive: true });
  new ResizeObserver(layOut).observe(scroll);

  byId("title").textContent = index.file;
  byId("damage").textContent = index.damage;
  byId("damage").hidden = !index.damage;
  select();
  layOut();
  scroll.focus();
})();
