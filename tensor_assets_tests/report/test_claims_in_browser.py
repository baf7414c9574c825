"""The claims page in a real browser: filters, links to one claim, and everything there without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

pytestmark = pytest.mark.browser

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
SHOWN = "[...document.querySelectorAll('.claim-row')].filter((row) => row.offsetParent !== null).map((row) => row.id)"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(chromium: Browser, built) -> Iterator[Page]:  # type: ignore[no-untyped-def]
    made = chromium.new_page()
    made.goto((built.site / "claims.html").as_uri())
    made.wait_for_selector("#filter-claims:not([hidden])")
    yield made
    made.close()


def test_a_filter_leaves_the_claims_that_match_and_says_how_many(page: Page) -> None:
    every = page.evaluate(SHOWN)
    page.select_option('[data-filter="verdict"]', "not measured")
    kept = page.evaluate(SHOWN)
    assert 0 < len(kept) < len(every)
    assert page.locator(".claim-row:visible:not([data-verdict='not measured'])").count() == 0
    assert page.locator("#filter-claims output").inner_text() == f"{len(kept)} of {len(every)}"
    page.select_option('[data-filter="compiler"]', "luminal")
    assert all("luminal" in name or name.startswith(("latency", "launches", "search")) for name in page.evaluate(SHOWN))
    page.fill('[data-filter="words"]', "e-class")
    assert page.evaluate(SHOWN) == ["sem-luminal-eclass", "sem-luminal-members"]


def test_a_link_to_a_claim_shows_it_whatever_is_filtered(page: Page) -> None:
    page.fill('[data-filter="words"]', "no claim says this")
    assert page.evaluate(SHOWN) == []
    page.evaluate("location.hash = '#latency-bias'")
    page.wait_for_selector("#latency-bias:visible")


def test_the_page_is_accessible_and_narrow_screens_do_not_scroll_sideways(page: Page) -> None:
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run(document).then((done) => done.violations)")
    assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_without_scripts_every_claim_is_there_and_nothing_pretends_to_filter(chromium: Browser, built) -> None:  # type: ignore[no-untyped-def]
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((built.site / "claims.html").as_uri())
    assert page.locator(".claim-row").count() == page.locator(".claim-row:visible").count() > 60
    assert not page.locator("#filter-claims").is_visible()
    context.close()
