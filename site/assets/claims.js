/* Filters of the claims page. Without scripts the page lists them all. */
(function () {
  "use strict";
  function start() {
    const form = document.getElementById("filter-claims");
    if (!form || !form.hidden) return;
    const rows = [...document.querySelectorAll(".claim-row")];
    const fields = [...form.querySelectorAll("[data-filter]")];
    const told = form.querySelector("output");

    function matches(row, field) {
      const wanted = field.value;
      if (!wanted) return true;
      if (field.dataset.filter === "words") return row.textContent.toLowerCase().includes(wanted.toLowerCase());
      return row.dataset[field.dataset.filter].split("|").includes(wanted);
    }
    function apply() {
      let shown = 0;
      for (const row of rows) {
        row.hidden = !fields.every((field) => matches(row, field));
        shown += !row.hidden;
      }
      told.textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
    }
    // A link to one claim shows it, whatever is filtered.
    function follow() {
      const target = rows.find((row) => "#" + row.id === location.hash);
      if (!target) return;
      if (target.hidden) {
        fields.forEach((field) => (field.value = ""));
        apply();
      }
      target.scrollIntoView({ block: "start" });
    }
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", apply);
    addEventListener("hashchange", follow);
    apply();
    follow();
  }
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
