/* The e-graph explorer: a dashed box is an e-class, one value; a card inside it is an expression that is equal to it.
   Choose a card and the classes it reads open in the next column. Nothing moves by itself. */
(function () {
  "use strict";
  const data = {};
  const SHEET = 30;
  const PAGE = 60; // cards shown of a class at once: more is a press away
  window.tensorAssetsEGraph = (name, egraph) => { data[name] = egraph; };

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) if (value !== false) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;

  // Cards in sheets: a browser lays out and paints only the sheets that are in view.
  function sheets(cards) {
    const found = [];
    for (let at = 0; at < cards.length; at += SHEET) found.push(make("div", { class: "enodes" }, ...cards.slice(at, at + SHEET)));
    return found;
  }

  class Explorer {
    constructor(root, raw) {
      this.root = root;
      this.classes = raw.classes.map(([id, type, given]) => ({ id, type, given, members: [] }));
      this.nodes = raw.nodes.map(([id, op, own, reads, cost, subsumed]) => ({ id, op, own, reads, cost, subsumed: Boolean(subsumed) }));
      this.children = raw.children;
      this.roots = raw.roots;
      this.nodes.forEach((node, index) => this.classes[node.own].members.push(index));
      const part = (name) => root.querySelector(name);
      this.columns = part(".egraph__columns");
      this.path = part(".egraph__path");
      this.count = part(".egraph__count");
      this.record = part(".egraph__record");
      this.type = part("[data-do=type]");
      this.subsumed = part("[data-do=subsumed]");
      this.search = part("[data-do=find]");
      this.trail = []; // the chosen expression of every column
      this.more = new Map(); // class → cards asked for
      this.listen();
      this.start();
    }

    start() {
      const named = this.classes.findIndex((each) => each.id === this.root.dataset.start);
      this.open(named < 0 ? this.roots[0] || 0 : named);
    }

    name(index) {
      const { given, id } = this.classes[index];
      return given || id;
    }

    // The first column holds one class; the others what the chosen expression before them reads.
    open(index) {
      this.first = index;
      this.trail = [];
      this.draw();
    }

    choose(column, index) {
      this.trail = [...this.trail.slice(0, column), index];
      const node = this.nodes[index];
      const record = { op: node.op, children: this.children[node.id] || [], eclass: this.classes[node.own].id, cost: node.cost, subsumed: node.subsumed };
      this.record.textContent = `${JSON.stringify(node.id)}: ${JSON.stringify(record, null, 1).replace(/\n\s*/g, " ")}`;
      const typing = this.columns.contains(document.activeElement);
      this.draw();
      if (typing) this.columns.children[column].querySelector(".enode.chosen")?.focus({ preventScroll: true });
    }

    // A class is shown if its type is asked for; what an expression reads of other types is named on its card.
    wanted(index) {
      return !this.type.value || this.classes[index].type === this.type.value;
    }

    visible(index) {
      const members = this.classes[index].members;
      return this.subsumed.checked ? members : members.filter((each) => !this.nodes[each].subsumed);
    }

    draw() {
      const columns = [[this.first]];
      for (const chosen of this.trail) {
        const read = [...new Set(this.nodes[chosen].reads)].filter((each) => this.wanted(each));
        columns.push(read);
      }
      this.shown = 0;
      this.hidden = 0;
      this.columns.replaceChildren(...columns.map((classes, column) => this.column(classes, column)));
      this.crumbs();
      const all = this.nodes.length.toLocaleString("en");
      this.count.textContent = `${this.shown.toLocaleString("en")} of ${all} expressions shown` + (this.hidden ? `, ${this.hidden.toLocaleString("en")} subsumed hidden` : "");
    }

    column(classes, column) {
      const boxes = classes.map((index) => this.box(index, column));
      if (!boxes.length) boxes.push(make("p", { class: "caption" }, "reads no class of this type"));
      return make("div", { class: "egraph__column" }, ...boxes);
    }

    box(index, column) {
      const own = this.classes[index];
      const members = this.visible(index);
      const limit = this.more.get(index) || PAGE;
      const chosen = this.trail[column];
      const cards = members.slice(0, limit).map((each) => this.card(each, column, each === chosen));
      this.shown += cards.length;
      this.hidden += own.members.length - members.length;
      const left = members.length - cards.length;
      const box = make("section", { class: "eclass", "aria-label": `class ${this.name(index)}` },
        make("header", {}, make("b", {}, this.name(index)), ` ${own.type} `, make("small", {}, plural(members.length, "expression"))),
        ...sheets(cards));
      if (left > 0) {
        const button = make("button", { type: "button", class: "egraph__more" }, `${Math.min(PAGE * 4, left).toLocaleString("en")} more of ${left.toLocaleString("en")}`);
        button.addEventListener("click", () => { this.more.set(index, limit + PAGE * 4); this.keeping(() => this.draw()); });
        box.append(button);
      }
      return box;
    }

    // Redrawing must not move what a reader looks at.
    keeping(action) {
      const places = [...this.columns.children].map((column) => column.scrollTop);
      const across = this.columns.scrollLeft;
      action();
      [...this.columns.children].forEach((column, index) => { column.scrollTop = places[index] || 0; });
      this.columns.scrollLeft = across;
    }

    card(index, column, chosen) {
      const node = this.nodes[index];
      const omitted = node.op === "[...]";
      const reads = node.reads.map((each) => this.name(each)).join(", ");
      const card = make("button", { type: "button", class: `enode${chosen ? " chosen" : ""}${node.subsumed ? " subsumed" : ""}${omitted ? " omitted" : ""}`, "aria-pressed": String(chosen) },
        make("b", {}, omitted ? "⋯ left out" : node.op), make("small", {}, reads ? `(${reads})` : ""));
      card.addEventListener("click", () => {
        this.keeping(() => this.choose(column, index));
        this.columns.scrollLeft = this.columns.scrollWidth;
      });
      return card;
    }

    crumbs() {
      const parts = [this.crumb(this.name(this.first), 0)];
      this.trail.forEach((chosen, column) => parts.push(this.crumb(this.nodes[chosen].op, column + 1)));
      this.path.replaceChildren(...parts);
    }

    crumb(text, length) {
      const button = make("button", { type: "button" }, text);
      button.addEventListener("click", () => { this.trail = this.trail.slice(0, length); this.draw(); });
      return button;
    }

    find(text) {
      const wanted = text.trim().toLowerCase();
      if (!wanted) return;
      const exact = this.classes.findIndex((each) => each.given.toLowerCase() === wanted || each.id.toLowerCase() === wanted);
      const holder = exact >= 0 ? exact : (this.nodes.find((node) => node.op.toLowerCase() === wanted) || this.nodes.find((node) => node.op.toLowerCase().includes(wanted)) || {}).own;
      if (holder === undefined) { this.count.textContent = `no class and no operator is called ${text.trim()}`; return; }
      if (this.type.value && this.classes[holder].type !== this.type.value) this.type.value = "";
      this.open(holder);
    }

    listen() {
      this.type.addEventListener("change", () => this.draw());
      this.subsumed.addEventListener("change", () => this.draw());
      this.root.querySelector("[data-do=reset]").addEventListener("click", () => this.start());
      this.search.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); this.find(this.search.value); } });
      this.columns.addEventListener("keydown", (event) => this.keys(event));
    }

    // Arrows walk cards and columns; / searches.
    keys(event) {
      if (event.key === "/") { event.preventDefault(); this.search.focus(); return; }
      const columns = [...this.columns.children].map((column) => [...column.querySelectorAll(".enode")]);
      const column = columns.findIndex((cards) => cards.includes(document.activeElement));
      const row = column < 0 ? -1 : columns[column].indexOf(document.activeElement);
      const target = { ArrowDown: [column, row + 1], ArrowUp: [column, row - 1], ArrowLeft: [column - 1, 0], ArrowRight: [column + 1, 0] }[event.key];
      if (!target) return;
      const next = (columns[Math.max(0, target[0])] || [])[Math.max(0, target[1])];
      if (next) { event.preventDefault(); next.focus(); }
    }
  }

  window.tensorAssetsExploreEGraph = (root) => new Explorer(root, data[root.dataset.egraph]);
})();
