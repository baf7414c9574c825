/* What the pages do when scripts run. Without them every page is complete, only longer. */
(function () {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  // What the address points at; nothing where it is no address at all, as with a lone per cent sign.
  const pointed = () => {
    try {
      return document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return null;
    }
  };

  // A cell's page: the strip chooses a stage; its neighbour to the left stays beside it.
  function panes() {
    const stages = all(".stage[data-stage]");
    const links = all(".strip a[data-stage]");
    if (!stages.length || !links.length) return;
    const names = stages.map((stage) => stage.dataset.stage);

    function show(name) {
      const right = Math.max(names.indexOf(name), 0);
      const pair = names.length === 1 ? [0] : [Math.max(right - 1, 0), Math.max(right, 1)];
      stages.forEach((stage, index) => {
        stage.classList.toggle("show", pair.includes(index));
        stage.classList.toggle("left", names.length > 1 && index === pair[0] && right !== 0);
        stage.classList.toggle("beside", right === 0 && index === 1);
      });
      links.forEach((link, index) => {
        link.classList.toggle("left", pair.includes(index) && index !== right);
        if (index === right) link.setAttribute("aria-current", "step");
        else link.removeAttribute("aria-current");
      });
    }

    // #stage-<name> and #<name>-<line> both say which stage is meant; anything else leaves the choice alone.
    function follow(first) {
      const target = pointed();
      const stage = target && target.closest(".stage[data-stage]");
      if (stage) {
        show(stage.dataset.stage);
        if (target !== stage) target.scrollIntoView({ block: "center" });
      } else if (first) show(names[Math.min(1, names.length - 1)]);
    }
    links.forEach((link, index) => {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        history.replaceState(null, "", link.getAttribute("href"));
        show(names[index]);
      });
      link.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step || !links[index + step]) return;
        event.preventDefault();
        links[index + step].focus();
        links[index + step].click();
      });
    });
    addEventListener("hashchange", () => follow(false));
    addEventListener("tensor-assets-stage", (event) => show(event.detail));
    follow(true);
  }

  // One value of the program, lit wherever it is found. Hover lights, a press keeps it lit.
  function values() {
    let kept = "";
    const marked = all("[data-ops]");
    const root = document.querySelector(".page");
    if (!root) return;
    function light(name) {
      root.classList.toggle("lit", Boolean(name));
      marked.forEach((line) => line.classList.toggle("on", line.dataset.ops.split(" ").includes(name)));
      all(".op").forEach((chip) => chip.setAttribute("aria-pressed", String(chip.dataset.op === kept && Boolean(kept))));
    }
    all(".op").forEach((chip) => {
      chip.setAttribute("aria-pressed", "false");
      chip.addEventListener("mouseenter", () => light(chip.dataset.op));
      chip.addEventListener("mouseleave", () => light(kept));
      chip.addEventListener("click", () => {
        kept = kept === chip.dataset.op ? "" : chip.dataset.op;
        light(kept);
        const first = kept && marked.find((line) => line.classList.contains("on") && line.offsetParent);
        if (first) first.closest(".code").scrollTop = first.offsetTop - first.closest(".code").offsetTop - 60;
      });
    });
    marked.forEach((line) => {
      line.addEventListener("mouseenter", () => light(line.dataset.ops.split(" ")[0]));
      line.addEventListener("mouseleave", () => light(kept));
    });
  }

  // The matrix of one target at a time; the address keeps the choice.
  function matrices() {
    const views = all(".matrix-view");
    if (views.length < 2) return;
    const pick = document.createElement("div");
    pick.className = "pick";
    pick.setAttribute("role", "group");
    pick.setAttribute("aria-label", "Target");
    views.forEach((view) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = view.dataset.title;
      button.addEventListener("click", () => {
        history.replaceState(null, "", "#" + view.id);
        show(view);
      });
      pick.append(button);
    });
    function show(chosen) {
      views.forEach((view, index) => {
        view.hidden = view !== chosen;
        pick.children[index].setAttribute("aria-pressed", String(view === chosen));
      });
    }
    views[0].before(pick);
    const follow = () => show(views.find((view) => "#" + view.id === location.hash) || views[0]);
    addEventListener("hashchange", follow);
    follow();
  }

  // Data and libraries come as scripts, because a page opened from disk may not fetch.
  const loading = new Map();
  function load(address) {
    if (!loading.has(address)) {
      loading.set(address, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = address;
        script.onload = resolve;
        script.onerror = () => reject(new Error("cannot load " + address));
        document.head.append(script);
      }));
    }
    return loading.get(address);
  }

  // A chart is a picture until it comes near; then it answers the pointer.
  const specs = {};
  window.tensorAssetsChart = (name, wide, layout) => {
    specs[name] = { wide, narrow: { datasets: wide.datasets, config: wide.config, ...layout } };
  };
  function charts() {
    const figures = all("figure[data-chart]");
    if (!figures.length) return;
    const colour = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
    const inks = { "#1a1b1e": "--ink", "#666a72": "--ink-3", "#e2e2dd": "--rule", "#d9d9d1": "--band", "#fdfdfb": "--paper",
      "#3d3a9c": "--kind-kernel", "#8785d1": "--kind-library", "#bdbcea": "--kind-memset", "#dddcf5": "--kind-memcpy" };
    const tinted = (spec) => JSON.parse(JSON.stringify(spec), (_, value) => inks[value] ? colour(inks[value]) : value);
    const narrow = matchMedia("(max-width: 44em)"); // where the style sheet shows the narrow drawing
    async function draw(figure) {
      const { chart, base } = figure.dataset;
      await Promise.all([load(base + "/assets/vega.js"), load(base + "/charts/" + chart + ".js")]);
      const size = narrow.matches ? "narrow" : "wide";
      const place = figure.querySelector(".draw--" + size);
      const live = document.createElement("div");
      await window.vegaEmbed(live, tinted(specs[chart][size]), { renderer: "svg", actions: false, ast: false, tooltip: { theme: "custom" } });
      all("[role^=graphics]", live).forEach((part) => ["role", "aria-roledescription"].forEach((name) => part.removeAttribute(name)));
      place.replaceChildren(live);
      figure.dataset.live = "";
    }
    const seen = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        target.addEventListener("pointerenter", () => draw(target), { once: true });
        target.addEventListener("focusin", () => draw(target), { once: true });
      }
    });
    figures.forEach((figure) => seen.observe(figure));
    narrow.addEventListener("change", () => all("figure[data-live]").forEach(draw));
    new MutationObserver(() => all("figure[data-live]").forEach(draw))
      .observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
  }

  // A graph is laid out when a reader comes to it.
  function graphs() {
    all("[data-graph]").forEach((root) => {
      const { graph, base } = root.dataset;
      const seen = new IntersectionObserver(async ([entry]) => {
        if (!entry.isIntersecting) return;
        seen.disconnect();
        await Promise.all(["dagre", "layout", "graph"].map((name) => load(`${base}/assets/${name}.js`)));
        await load(base + "/graphs/" + graph + ".js");
        root.hidden = false;
        window.tensorAssetsExplore(root);
      });
      root.hidden = false;
      seen.observe(root);
    });
  }

  function egraphs() {
    all("[data-egraph]").forEach((root) => {
      const { egraph, base } = root.dataset;
      const seen = new IntersectionObserver(async ([entry]) => {
        if (!entry.isIntersecting) return;
        seen.disconnect();
        await load(base + "/assets/egraph.js");
        await load(base + "/egraphs/" + egraph + ".js");
        window.tensorAssetsExploreEGraph(root);
        root.dataset.live = "";
      });
      root.hidden = false;
      seen.observe(root);
    });
  }

  // The evidence index: any part of a hash, a name or a cell.
  function evidence() {
    const form = document.getElementById("find-evidence");
    if (!form) return;
    const input = form.querySelector("input");
    const found = document.getElementById("found");
    let rows = null;
    window.tensorAssetsEvidence = (index) => { rows = index; };
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    async function find() {
      const wanted = input.value.trim().toLowerCase();
      document.getElementById("by-workload").hidden = Boolean(wanted);
      if (!wanted) return found.replaceChildren();
      if (!rows) await load("evidence/index.js");
      if (wanted !== input.value.trim().toLowerCase()) return; // typed on while it was loaded
      const hits = rows.filter((row) => row.slice(0, 3).some((part) => part.toLowerCase().includes(wanted)));
      found.replaceChildren(...answer(hits));
    }
    input.addEventListener("input", find);
    if (location.hash.length > 1 && /^#[0-9a-f]{6,64}$/.test(location.hash)) {
      input.value = location.hash.slice(1);
      find();
    }
  }
  function answer(hits) {
    const said = document.createElement("p");
    said.className = "caption";
    said.textContent = hits.length > 100 ? `${hits.length} found, 100 shown` : `${hits.length} found`;
    const table = document.createElement("table");
    table.className = "data";
    for (const [sha256, what, where, bytes, href, page] of hits.slice(0, 100)) {
      const row = table.insertRow();
      const cell = row.insertCell();
      cell.className = "name";
      cell.append(href ? linked(href, sha256.slice(0, 20) + "…") : sha256.slice(0, 20) + "…");
      cell.title = sha256;
      row.insertCell().textContent = what;
      const size = row.insertCell();
      size.className = "num";
      size.textContent = bytes.toLocaleString("en") + " B";
      row.insertCell().append(linked(page, where));
    }
    const frame = document.createElement("div");
    frame.className = "scroll";
    frame.append(table);
    return [said, frame];
  }
  function linked(href, text) {
    const link = document.createElement("a");
    link.href = href;
    link.textContent = text;
    return link;
  }

  async function compare() {
    if (!document.getElementById("compare-form")) return;
    await Promise.all([load("assets/diff.js"), load("assets/difference.js")]);
    await Promise.all([load("assets/compare.js"), load("compare/index.js")]);
    await window.tensorAssetsCompare(load);
  }

  // What a stage changed of the one before it is worked out when a reader asks for it.
  function differences() {
    all("details.since").forEach((box) => box.addEventListener("toggle", async () => {
      if (!box.open) return;
      await load(box.dataset.base + "/assets/difference.js");
      await window.tensorAssetsDifference.since(box, load);
    }));
  }

  panes();
  values();
  matrices();
  charts();
  graphs();
  egraphs();
  evidence();
  compare();
  differences();
})();
