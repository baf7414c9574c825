/* The graph explorer: layered left to right, no physics. Select a node and its lines light up; press a line and its
   node does. Arrows follow edges, / searches, + − 0 zoom and fit. Layout by dagre. */
(function () {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  // More nodes than this are shown around the selected one only: layout stays under a second and a reader sees something.
  const WHOLE = 250;
  const NEAR = 80;
  const data = {};
  window.tensorAssetsGraph = (name, graph) => { data[name] = graph; };

  function make(tag, attributes, ...children) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  class Explorer {
    constructor(root, graph) {
      this.root = root;
      this.graph = graph;
      this.nodes = new Map(graph.nodes.map((node) => [node.id, node]));
      this.into = new Map(graph.nodes.map((node) => [node.id, []]));
      this.outof = new Map(graph.nodes.map((node) => [node.id, []]));
      for (const [source, target] of graph.edges) {
        if (!this.nodes.has(source) || !this.nodes.has(target)) continue;
        this.into.get(target).push(source);
        this.outof.get(source).push(target);
      }
      this.svg = root.querySelector("svg");
      this.svg.removeAttribute("viewBox"); // of the drawing that stands here until now
      for (const side of ["width", "height"]) this.svg.removeAttribute(side);
      this.svg.setAttribute("role", "application");
      this.svg.setAttribute("aria-label", this.svg.getAttribute("aria-label") + "; arrow keys follow edges, slash searches");
      this.stage = (root.dataset.scope || "") + graph.stage; // of the lines on this page
      const arrow = `arrow-${this.stage}`;
      this.said = root.querySelector(".graph__said");
      this.scene = make("g");
      this.svg.replaceChildren(
        make("defs", {}, make("marker", { id: arrow, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
          make("path", { d: "M0 1 7 4 0 7z", class: "tip" }))),
        this.scene,
      );
      this.arrow = `url(#${arrow})`;
      this.partial = graph.nodes.length > WHOLE;
      this.selected = null;
      this.layout(this.partial ? this.around(this.start()) : [...this.nodes.keys()]);
      this.listen();
      this.fit();
    }

    start() {
      const found = this.graph.nodes.find((node) => node.role === "contraction") || this.graph.nodes[0];
      return found.id;
    }

    // The nodes nearest to one, by edges in either direction.
    around(id) {
      const found = new Set([id]);
      let ring = [id];
      while (ring.length && found.size < NEAR) {
        const next = [];
        for (const at of ring) {
          for (const near of [...this.into.get(at), ...this.outof.get(at)]) {
            if (!found.has(near) && found.size < NEAR) { found.add(near); next.push(near); }
          }
        }
        ring = next;
      }
      return [...found];
    }

    layout(ids) {
      const plan = window.tensorAssetsLayout(ids.map((id) => this.nodes.get(id)), this.graph.edges);
      this.plan = { ...plan, places: new Map(plan.places) };
      this.draw(ids);
    }

    draw(ids) {
      const edges = make("g", { class: "edges" });
      for (const { path, label, x, y } of this.plan.edges) {
        edges.append(make("path", { d: path, "marker-end": this.arrow }));
        if (label) edges.append(make("text", { x, y }, label));
      }
      const nodes = make("g", { class: "nodes" });
      this.drawn = new Map();
      for (const id of ids) {
        const node = this.nodes.get(id);
        const place = this.plan.places.get(id);
        const hue = node.ops.length ? this.graph.hues[node.ops[0]] : undefined;
        const cut = this.partial && this.into.get(id).concat(this.outof.get(id)).some((near) => !ids.includes(near));
        const group = make("g", {
          class: `node role-${node.role}${node.certain ? "" : " guess"}${cut ? " cut" : ""}`,
          transform: `translate(${place.x - place.width / 2} ${place.y - place.height / 2})`,
          "data-id": id,
          ...(hue === undefined ? {} : { style: `--h:${hue}`, "data-hue": "" }),
        },
        make("rect", { width: place.width, height: place.height, rx: node.role === "input" ? 20 : 4 }),
        make("text", { x: place.width / 2, y: 17, class: "name" }, node.op),
        make("text", { x: place.width / 2, y: 31, class: "id" }, node.id));
        this.drawn.set(id, group);
        nodes.append(group);
      }
      this.scene.replaceChildren(edges, nodes);
    }

    fit() {
      const wide = this.svg.getBoundingClientRect().width;
      const tall = this.plan.height * Math.min(1.15, Math.max(0.75, wide / this.plan.width)) + 24;
      this.svg.style.height = `${Math.min(480, Math.max(150, tall))}px`;
      const box = this.svg.getBoundingClientRect();
      const scale = Math.min(1.15, box.width / this.plan.width, box.height / this.plan.height);
      this.view = { scale, x: (box.width - this.plan.width * scale) / 2, y: (box.height - this.plan.height * scale) / 2 };
      // A graph too wide to read whole starts at its left, at a size that can be read.
      if (scale < 0.55) this.view = { scale: 0.75, x: 8, y: (box.height - this.plan.height * 0.75) / 2 };
      this.move();
    }

    zoom(factor, x, y) {
      const box = this.svg.getBoundingClientRect();
      const at = { x: x === undefined ? box.width / 2 : x - box.left, y: y === undefined ? box.height / 2 : y - box.top };
      const scale = Math.min(3, Math.max(0.08, this.view.scale * factor));
      const real = scale / this.view.scale;
      this.view = { scale, x: at.x - (at.x - this.view.x) * real, y: at.y - (at.y - this.view.y) * real };
      this.move();
    }

    move() {
      this.scene.setAttribute("transform", `translate(${this.view.x} ${this.view.y}) scale(${this.view.scale})`);
    }

    select(id, options = {}) {
      if (!this.drawn.has(id)) {
        this.layout(this.around(id));
        this.fit();
      } else if (this.partial && this.drawn.get(id).classList.contains("cut")) {
        this.layout(this.around(id));
      }
      if (this.selected) this.drawn.get(this.selected)?.classList.remove("chosen");
      this.selected = id;
      const group = this.drawn.get(id);
      group.classList.add("chosen");
      this.reveal(id);
      const node = this.nodes.get(id);
      const from = this.into.get(id).join(", ");
      const parts = [node.op, node.id, node.role, [node.shape, node.dtype].filter(Boolean).join(" "), from && "from " + from,
        node.ops.length && (node.certain ? "stands for " : "probably stands for ") + node.ops.join(", "),
        node.lines && "line " + (node.lines[0] === node.lines[1] ? node.lines[0] : node.lines.join("–"))];
      this.said.textContent = parts.filter(Boolean).join(" · ");
      if (!options.quiet) this.light(node);
    }

    reveal(id) {
      const place = this.plan.places.get(id);
      const box = this.svg.getBoundingClientRect();
      const x = place.x * this.view.scale + this.view.x;
      const y = place.y * this.view.scale + this.view.y;
      if (x < 60 || x > box.width - 60) this.view.x += box.width / 2 - x;
      if (y < 30 || y > box.height - 30) this.view.y += box.height / 2 - y;
      this.move();
    }

    light(node) {
      document.querySelectorAll(".code .l.hit").forEach((line) => line.classList.remove("hit"));
      if (!node.lines) return;
      const first = document.getElementById(`${this.stage}-${node.lines[0]}`);
      if (!first) return;
      dispatchEvent(new CustomEvent("tensor-assets-stage", { detail: this.stage }));
      for (let number = node.lines[0]; number <= node.lines[1]; number++) {
        document.getElementById(`${this.stage}-${number}`)?.classList.add("hit");
      }
      const code = first.closest(".code");
      code.scrollTop = first.offsetTop - code.offsetTop - code.clientHeight / 2;
    }

    step(key) {
      if (!this.selected) return this.select(this.start());
      const near = { ArrowRight: this.outof, ArrowLeft: this.into }[key];
      if (near) {
        const next = near.get(this.selected)[0];
        if (next) this.select(next);
        return;
      }
      // Up and down: the nearest node of the same column.
      const here = this.plan.places.get(this.selected);
      const column = [...this.drawn.keys()].map((id) => ({ id, ...this.plan.places.get(id) }))
        .filter((node) => Math.abs(node.x - here.x) < node.width && (key === "ArrowDown" ? node.y > here.y : node.y < here.y))
        .sort((a, b) => Math.abs(a.y - here.y) - Math.abs(b.y - here.y));
      if (column.length) this.select(column[0].id);
    }

    find(text) {
      const wanted = text.trim().toLowerCase();
      if (!wanted) return;
      const hit = this.graph.nodes.find((node) => node.id.toLowerCase() === wanted)
        || this.graph.nodes.find((node) => `${node.op} ${node.id}`.toLowerCase().includes(wanted));
      if (hit) this.select(hit.id);
      else this.said.textContent = `no node is called ${text.trim()}`;
    }

    listen() {
      const search = this.root.querySelector("input");
      this.root.querySelector("[data-do=in]").addEventListener("click", () => this.zoom(1.3));
      this.root.querySelector("[data-do=out]").addEventListener("click", () => this.zoom(1 / 1.3));
      this.root.querySelector("[data-do=fit]").addEventListener("click", () => this.fit());
      search.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); this.find(search.value); } });
      this.svg.addEventListener("keydown", (event) => {
        if (event.key.startsWith("Arrow")) this.step(event.key);
        else if (event.key === "/") search.focus();
        else if (event.key === "+" || event.key === "=") this.zoom(1.3);
        else if (event.key === "-") this.zoom(1 / 1.3);
        else if (event.key === "0") this.fit();
        else return;
        event.preventDefault();
        event.stopPropagation();
      });
      this.svg.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.svg) return;
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 400), event.clientX, event.clientY);
      }, { passive: false });
      let drag = null;
      this.svg.addEventListener("pointerdown", (event) => {
        drag = { x: event.clientX, y: event.clientY, moved: false, node: event.target.closest(".node") };
      });
      this.svg.addEventListener("pointermove", (event) => {
        if (!drag) return;
        const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
        if (!drag.moved && Math.hypot(dx, dy) < 4) return;
        if (!drag.moved) this.svg.setPointerCapture(event.pointerId);
        drag = { ...drag, x: event.clientX, y: event.clientY, moved: true };
        this.view.x += dx;
        this.view.y += dy;
        this.move();
      });
      this.svg.addEventListener("pointerup", () => {
        if (drag && !drag.moved && drag.node) this.select(drag.node.dataset.id);
        drag = null;
      });
      this.svg.addEventListener("pointercancel", () => { drag = null; });
      document.querySelectorAll(`.stage[data-stage="${this.stage}"] .l`).forEach((line) => {
        line.addEventListener("click", (event) => {
          if (event.target.closest("a")) return;
          const number = Number(line.id.slice(this.stage.length + 1));
          const inside = this.graph.nodes.filter((node) => node.lines && node.lines[0] <= number && number <= node.lines[1])
            .sort((a, b) => a.lines[1] - a.lines[0] - (b.lines[1] - b.lines[0]));
          if (inside.length) this.select(inside[0].id);
        });
      });
    }
  }

  window.tensorAssetsExplore = (root) => new Explorer(root, data[root.dataset.graph]);
})();
