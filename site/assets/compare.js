/* Two configurations side by side: facts, times, activities, stages. Lines are compared by difference.js. */
(function () {
  "use strict";
  const { compared, difference, el, scrolled } = window.tensorAssetsDifference;
  const section = (title, ...children) => el("section", {}, el("h2", {}, title), ...children);

  function heads(a, b) {
    const head = (side) => el("th", { scope: "col" }, el("i", { class: "swatch", style: `--c:${side.colour}` }), el("a", { href: side.page }, side.label));
    return el("thead", {}, el("tr", {}, el("td"), head(a), head(b)));
  }

  function facts(a, b) {
    const body = el("tbody");
    for (const name of Object.keys(a.facts)) {
      const differ = a.facts[name] !== b.facts[name];
      body.append(el("tr", { class: differ ? "differ" : "alike" }, el("th", { scope: "row" }, name),
        el("td", { class: "wrap" }, a.facts[name] || "–"), el("td", { class: "wrap" }, b.facts[name] || "–")));
    }
    return scrolled("Facts", el("table", { class: "data two" }, heads(a, b), body));
  }

  // Says faster or slower only of one allocation, and only beyond the noise of both.
  function verdict(a, b, one, other) {
    if (a.allocation !== b.allocation || !a.allocation) return "different allocations: not compared";
    if (one.noise === null || other.noise === null) return "noise not known: not compared";
    const ratio = other.ns / one.ns;
    const within = Math.abs(Math.log(ratio)) <= 2 * Math.SQRT2 * Math.max(one.noise, other.noise);
    return within ? "within noise" : `right is ${ratio.toPrecision(3)}× left`;
  }

  function times(a, b) {
    const axes = [...new Set([...Object.keys(a.times), ...Object.keys(b.times)])];
    if (!axes.length) return el("p", {}, "Neither was timed.");
    const body = el("tbody");
    const show = (time) => time ? [el("b", {}, time.text), ` ${time.spread}, ${time.said}`] : ["–"];
    for (const axis of axes) {
      const [one, other] = [a.times[axis], b.times[axis]];
      body.append(el("tr", {}, el("th", { scope: "row" }, axis), el("td", {}, ...show(one)), el("td", {}, ...show(other)),
        el("td", {}, one && other ? verdict(a, b, one, other) : "–")));
    }
    const head = heads(a, b);
    head.rows[0].append(el("th", { scope: "col" }, "difference"));
    return scrolled("Times", el("table", { class: "data two" }, head, body));
  }

  function launches(a, b) {
    const count = Math.max(a.launches.length, b.launches.length);
    if (!count) return el("p", {}, "Neither has a plan.");
    const body = el("tbody");
    for (let index = 0; index < count; index++) {
      const [one, other] = [a.launches[index], b.launches[index]];
      for (const name of Object.keys(one || other)) {
        const [left, right] = [one ? one[name] : "", other ? other[name] : ""];
        if (name !== "name" && (left === right || !one || !other)) continue;
        body.append(el("tr", { class: `${left === right ? "alike" : "differ"}${name === "name" ? " first" : ""}` }, el("th", { scope: "row" }, name === "name" ? `activity ${index + 1}` : name),
          el("td", { class: "name" }, left || "none"), el("td", { class: "name" }, right || "none")));
      }
    }
    return scrolled("Device activities", el("table", { class: "data two" }, heads(a, b), body));
  }

  function pairs(a, b) {
    // Two compilers may call unlike things alike: one's source is a program, another's is CUDA.
    const left = new Map(a.compiler === b.compiler ? a.stages.map((stage) => [stage.name, stage]) : []);
    const same = b.stages.filter((stage) => left.has(stage.name)).map((stage) => [left.get(stage.name), stage]);
    if (same.length) {
      const named = new Set(same.map(([stage]) => stage.name));
      return same.concat(a.stages.filter((stage) => !named.has(stage.name)).map((stage) => [stage, null]),
        b.stages.filter((stage) => !named.has(stage.name)).map((stage) => [null, stage]));
    }
    return ["semantic", "scheduled", "code", "machine"].map((level) =>
      [a.stages.find((stage) => stage.level === level) || null, b.stages.find((stage) => stage.level === level) || null])
      .filter(([one, other]) => one || other);
  }

  function stagePair([one, other], same) {
    const alike = !one || !other || (same && one.name === other.name);
    const title = alike ? (one || other).title : `${one.title} | ${other.title}`;
    const equal = one && other && one.sha256 === other.sha256;
    const diffed = one && other && alike && !equal;
    const how = !one || !other ? ` · only ${one ? "left" : "right"}` : equal ? " · the same text" : diffed ? "" : " · side by side";
    const box = el("details", { class: "numbers stage-pair", open: diffed ? "" : false }, el("summary", {},
      `${title} · ${(one || other).level}${how}`));
    const fill = () => {
      if (box.dataset.filled) return;
      box.dataset.filled = "1";
      box.append(...(diffed ? difference(one.text, other.text) : [beside(one, other)]));
      if ((one && one.cut) || (other && other.cut)) box.append(el("p", { class: "caption" }, "Long texts are compared by their beginning."));
    };
    box.addEventListener("toggle", () => box.open && fill());
    if (diffed) fill();
    return box;
  }

  function beside(one, other) {
    const side = (stage) => el("pre", { class: "code", tabindex: 0, role: "region", "aria-label": stage.title }, el("code", {}, stage.text));
    return one && other ? el("div", { class: "beside" }, side(one), side(other)) : side(one || other);
  }

  window.tensorAssetsCompare = async function (load) {
    const { rows: index, opening } = compared("index");
    const form = document.getElementById("compare-form");
    const [a, b] = [document.getElementById("compare-a"), document.getElementById("compare-b")];
    const place = document.getElementById("compared");
    for (const select of [a, b]) {
      const groups = new Map();
      for (const [name, workload, label] of index) {
        if (!groups.has(workload)) groups.set(workload, el("optgroup", { label: workload }));
        groups.get(workload).append(el("option", { value: name }, `${workload} × ${label}`));
      }
      select.append(...groups.values());
    }
    function chosen() {
      const wanted = new URLSearchParams(location.hash.slice(1));
      const names = index.map(([name]) => name);
      const [left, right] = opening.length ? opening : names;
      const first = names.includes(wanted.get("a")) ? wanted.get("a") : left;
      return [first, names.includes(wanted.get("b")) ? wanted.get("b") : [right, ...names].find((name) => name && name !== first) || first];
    }
    async function show() {
      await Promise.all([load(`compare/${a.value}.js`), load(`compare/${b.value}.js`)]);
      const [left, right] = [compared(a.value), compared(b.value)];
      const stages = pairs(left, right).map((pair) => stagePair(pair, left.compiler === right.compiler));
      place.replaceChildren(section("Facts", facts(left, right)), section("Times", times(left, right)),
        section("Device activities", launches(left, right)),
        section("Stages", ...(stages.length ? stages : [el("p", {}, "Neither has a stage.")])));
    }
    function follow() {
      [a.value, b.value] = chosen();
      return show();
    }
    function choose() {
      history.replaceState(null, "", `#a=${a.value}&b=${b.value}`);
      return show();
    }
    a.addEventListener("change", choose);
    b.addEventListener("change", choose);
    document.getElementById("compare-swap").addEventListener("click", () => { [a.value, b.value] = [b.value, a.value]; choose(); });
    addEventListener("hashchange", follow);
    form.hidden = false;
    if (index.length) await follow();
    else place.append(el("p", {}, "Nothing has been materialized yet."));
  };
})();
