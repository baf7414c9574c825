/* Two texts line by line: what the compare page shows of one stage in two configurations, and a cell's page of a stage
   and the one before it. The smallest difference by the diff package; lines are told apart as report/differences.py
   tells them, so a page's counts are those of what is drawn here. */
(function () {
  "use strict";
  const MOST_ROWS = 3000;
  const AROUND = 3; // equal lines kept on either side of a change
  const data = {};
  window.tensorAssetsCompared = (name, facts) => { data[name] = facts; };
  const compared = (name) => data[name];

  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) if (value !== false) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  const scrolled = (label, child) => el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, child);

  const linesOf = (text) => text.replace(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n");
  const comparable = (line) => "=" + line.replace(/ loc\((?:[^()]|\([^()]*\))*\)|(?<=^#loc)\d+/g, "").trim();

  // Parts of both texts in order: {kept | removed | added: [lines]}.
  function parts(one, other) {
    const [old, now] = [linesOf(one), linesOf(other)];
    let [left, right] = [0, 0];
    return window.Diff.diffArrays(old.map(comparable), now.map(comparable)).map(({ added, removed, count }) => {
      const part = { added: Boolean(added), removed: Boolean(removed), left, right,
        lines: removed ? old.slice(left, left + count) : now.slice(right, right + count) };
      if (!added) left += count;
      if (!removed) right += count;
      return part;
    });
  }

  function difference(one, other) {
    const all = parts(one, other);
    const rows = el("tbody");
    let cut = 0;
    const add = (row) => { if (rows.childElementCount < MOST_ROWS) rows.append(row); else cut++; };
    for (let index = 0; index < all.length; index++) {
      const [part, next] = [all[index], all[index + 1]];
      if (part.removed && next && next.added && next.lines.length === part.lines.length) {
        const pairs = part.lines.map((line, at) => changed(line, next.lines[at]));
        pairs.forEach(([was], at) => add(row(part.left + at + 1, "", "−", was)));
        pairs.forEach(([, is], at) => add(row("", next.right + at + 1, "+", is)));
        index++;
      } else if (part.added || part.removed) {
        part.lines.forEach((line, at) => add(part.added ? row("", part.right + at + 1, "+", [line]) : row(part.left + at + 1, "", "−", [line])));
      } else kept(part, index === 0, index === all.length - 1, add);
    }
    const count = (wanted) => all.filter(wanted).reduce((sum, part) => sum + part.lines.length, 0).toLocaleString("en");
    const said = `${count((part) => !part.added && !part.removed)} lines kept, ${count((part) => part.removed)} removed, ${count((part) => part.added)} added`;
    return [el("p", { class: "caption diff-count" }, said + (cut ? `; the last ${cut.toLocaleString("en")} lines are not drawn` : "")),
      scrolled("Difference", el("table", { class: "diff" }, rows))];
  }

  function kept(part, first, last, add) {
    const { lines, left, right } = part;
    const [head, tail] = [first ? 0 : AROUND, last ? 0 : AROUND];
    const hidden = lines.length - head - tail;
    lines.forEach((line, at) => {
      if (hidden > 2 && at >= head && at < lines.length - tail) {
        if (at === head) add(row("", "", "", [`… ${hidden.toLocaleString("en")} equal lines …`], "gap"));
      } else add(row(left + at + 1, right + at + 1, "", [line]));
    });
  }

  // A line and what became of it, with the words that changed marked where most stayed.
  function changed(was, is) {
    const words = window.Diff.diffWordsWithSpace(was, is);
    const same = words.filter((word) => !word.added && !word.removed).reduce((sum, word) => sum + word.value.trim().length, 0);
    if (same * 2 < Math.max(was.trim().length, is.trim().length)) return [[was], [is]];
    const side = (gone, tag) => words.filter((word) => !word[gone]).map((word) => word.added || word.removed ? el(tag, {}, word.value) : word.value);
    return [side("added", "del"), side("removed", "ins")];
  }

  function row(left, right, sign, line, kind) {
    return el("tr", { class: kind || (sign === "+" ? "added" : sign === "−" ? "removed" : "") },
      el("td", {}, String(left)), el("td", {}, String(right)), el("td", {}, sign), el("td", {}, ...line));
  }

  // A stage beside the one before it, when a reader opens it.
  async function since(box, load) {
    const { configuration, before, after, base } = box.dataset;
    const place = box.querySelector(".since__lines");
    if (place.childElementCount) return;
    await Promise.all([load(base + "/assets/diff.js"), load(`${base}/compare/${configuration}.js`)]);
    const stage = (name) => compared(configuration).stages.find((each) => each.name === name);
    const [old, now] = [stage(before), stage(after)];
    place.replaceChildren(...difference(old.text, now.text));
    if (old.cut || now.cut) place.prepend(el("p", { class: "caption" }, "Long texts are shown by their beginning; the counts above are of all of both."));
  }

  window.tensorAssetsDifference = { compared, difference, since, el, scrolled };
})();
