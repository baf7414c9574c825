"""A cell's tables in a real browser: what fits is shown whole, what does not says that more stands beside it."""

from __future__ import annotations

import pytest

from tensor_assets_tests.report import test_browser
from tensor_assets_tests.report.test_browser import on_disk, opened

pytestmark = pytest.mark.browser
browser = test_browser.browser
LONG = "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_15CUDAFunctor_add"
TIMELINE = '.scroll[aria-label="Device timeline"]'


def test_a_device_timeline_fits_a_laptop_whatever_its_kernels_are_called(built, browser):
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    page = opened(context, on_disk(built, "cells/weight_view/max.html")).page
    table = page.locator(TIMELINE)
    table.locator("td.name").first.wait_for()
    table.locator("td.name").evaluate_all("(cells, name) => cells.forEach(cell => cell.textContent = name)", LONG)
    wide, shown = table.evaluate("at => [at.scrollWidth, at.clientWidth]")
    assert wide <= shown
    name = table.locator("td.name").first
    assert name.evaluate("cell => cell.scrollWidth > cell.clientWidth && getComputedStyle(cell).textOverflow") == (
        "ellipsis"
    )
    assert name.get_attribute("title")
    context.close()


def edge(page, scroll, place):
    """The right edge of a scrolled box whose table is out of sight, as a picture, at a place of its way."""
    page.evaluate(
        "([at, place]) => { at.scrollLeft = place; at.firstElementChild.style.visibility = 'hidden'; }",
        [scroll.element_handle(), place],
    )
    box = scroll.bounding_box()
    return page.screenshot(clip={"x": box["x"] + box["width"] - 6, "y": box["y"] + 4, "width": 6, "height": 20})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_table_that_goes_on_beyond_its_edge_shows_it(built, browser, scheme):
    context = browser.new_context(viewport={"width": 360, "height": 800}, color_scheme=scheme)
    page = opened(context, on_disk(built, "cells/weight_view/max.html")).page
    table = page.locator(TIMELINE)
    table.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    assert table.evaluate("at => at.scrollWidth > at.clientWidth")
    begun, ended = edge(page, table, 0), edge(page, table, 10_000)
    assert begun != ended
    table.evaluate("at => { at.innerHTML = '<p style=\"height: 10rem\">'; }")
    assert edge(page, table, 0) == ended, "a table that fits has no shade"
    context.close()
