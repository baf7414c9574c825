"""How soon pages show something: ``python -m tensor_assets_tests.report.measure SITE`` opens each kind of a built site.

First contentful paint in headless Chromium, from disk, the median of some openings, beside that of a page of one word:
the ratio is the site's share, the rest is the browser's and the machine's. It is a measurement and no test.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

OPENINGS = 5
# The entry may come after the load event: wait for it, whether it is there or yet to come.
PAINTED = """() => new Promise(told => new PerformanceObserver(list => {
  for (const entry of list.getEntriesByName('first-contentful-paint')) told(entry.startTime);
}).observe({type: 'paint', buffered: true}))"""


def first_view(browser: Browser, page: Path) -> float:
    """Milliseconds from asking for ``page`` to its first contentful paint, the median of fresh contexts."""
    seen = []
    for _ in range(OPENINGS):
        context = browser.new_context(viewport={"width": 1366, "height": 800})
        opened = context.new_page()
        opened.goto(f"file://{page.resolve()}", wait_until="load")
        seen.append(opened.evaluate(PAINTED))
        context.close()
    return statistics.median(seen)


def kinds(site: Path) -> Iterator[Path]:
    """Every page at the top, and the largest one of each folder: a kind is as slow as its slowest page."""
    yield from sorted(site.glob("*.html"))
    folders = sorted({page.relative_to(site).parts[0] for page in site.glob("*/**/*.html")})
    for folder in folders:
        yield max((site / folder).rglob("*.html"), key=lambda page: page.stat().st_size)


def main() -> None:
    site = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        bare = Path(scratch) / "bare.html"
        bare.write_text("<!doctype html><title>bare</title><p>word")
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        least = first_view(browser, bare)
        print(f"{'a page of one word':<60} {'':>9} {least:7.0f} ms")
        for page in kinds(site):
            took = first_view(browser, page)
            name, kilobytes = str(page.relative_to(site)), page.stat().st_size / 1e3
            print(f"{name:<60} {kilobytes:6.0f} kB {took:7.0f} ms {took / least:6.1f}×")
        browser.close()


if __name__ == "__main__":
    main()
