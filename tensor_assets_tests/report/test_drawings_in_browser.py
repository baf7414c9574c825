"""A graph without scripts in a real browser, and that nothing moves when the explorer takes its place."""

from __future__ import annotations

import pytest

from tensor_assets_tests.report import test_browser
from tensor_assets_tests.report.test_browser import on_disk, opened

pytestmark = pytest.mark.browser
browser, context = test_browser.browser, test_browser.context
PAGE = "cells/weight_view/tinygrad.html"
PLACES = "nodes => nodes.map(node => [node.querySelector('.id').textContent, node.getAttribute('transform')])"


def test_the_explorer_stands_where_the_picture_stood(built, browser, context):
    still = browser.new_context(java_script_enabled=False)
    page = opened(still, on_disk(built, PAGE)).page
    assert page.locator("#graph svg").is_visible()
    assert not page.locator("#graph .graph__tools").is_visible()
    drawn = page.locator("#graph .node").evaluate_all(PLACES)
    still.close()
    watched = opened(context, on_disk(built, PAGE))
    watched.page.locator("#graph").scroll_into_view_if_needed()
    watched.page.locator("#graph svg[role=application] .node").first.wait_for(timeout=60_000)
    explored = watched.page.locator("#graph .node").evaluate_all(PLACES)
    assert len(drawn) > 5
    assert places(drawn) == places(explored)
    assert watched.complaints == []


def places(found: list[list[str]]) -> dict[str, tuple[float, ...]]:
    """By name; the browser writes more digits than a picture needs."""
    return {
        name: tuple(round(float(part), 1) for part in at.removeprefix("translate(").removesuffix(")").split())
        for name, at in found
    }
