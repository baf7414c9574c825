"""A stage and the one before it, in a real browser: what is drawn is what the page counted when it was built."""

from __future__ import annotations

import re

import pytest

from tensor_assets_tests.report import test_browser
from tensor_assets_tests.report.test_browser import on_disk, opened, serious_findings

pytestmark = pytest.mark.browser
browser, context = test_browser.browser, test_browser.context
PAGE = "cells/weight_view/triton.html"
COMPARED = "compare.html#a=weight-view-inductor-default-cpu-matrix"
COUNTS = re.compile(r"(\d+) lines? kept, (\d+) removed, (\d+) added")


def test_what_a_stage_changed_opens_with_the_lines_that_were_counted(built, context):
    watched = opened(context, on_disk(built, PAGE) + "#stage-ttgir")
    page = watched.page
    box = page.locator("#stage-ttgir details.since")
    box.locator("summary").focus()
    page.keyboard.press("Enter")
    box.locator("table.diff").wait_for(timeout=60_000)
    counted = COUNTS.search(box.locator("summary").inner_text()).groups()
    assert COUNTS.search(box.locator(".diff-count").text_content()).groups() == counted
    assert box.locator("tr.removed").count() == int(counted[1])
    assert box.locator("tr.added").count() == int(counted[2])
    assert watched.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("address", "boxes", "diffed"),
    [
        (PAGE + "#stage-ttgir", "#stage-ttgir details.since", True),
        (f"{COMPARED}&b=bias-inductor-default-cpu-matrix", "details.stage-pair", True),
        (f"{COMPARED}&b=weight-view-tvm-default-cpu-matrix", "details.stage-pair", False),
    ],
)
def test_axe_finds_nothing_serious_in_what_is_opened(built, browser, scheme, address, boxes, diffed):
    context = browser.new_context(viewport={"width": 1366, "height": 900}, color_scheme=scheme)
    page = opened(context, f"file://{built.site}/{address}").page
    page.locator(boxes).first.wait_for(timeout=60_000)
    for box in page.locator(boxes).all():
        if box.get_attribute("open") is None:
            box.locator("summary").first.click()
    page.locator("table.diff" if diffed else ".stage-pair .beside pre").first.wait_for(timeout=60_000)
    found = serious_findings(page)
    context.close()
    assert found == []


def test_both_sides_are_in_sight_on_a_phone(built, browser):
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = opened(context, f"file://{built.site}/{COMPARED}&b=weight-view-tvm-default-cpu-matrix").page
    facts = page.locator("#compared .scroll").first
    facts.wait_for(timeout=60_000)
    hidden = facts.evaluate("facts => facts.scrollWidth - facts.clientWidth")
    context.close()
    assert hidden <= 0


def test_stages_of_two_compilers_are_never_held_line_against_line(built, context):
    """Both call a stage fx; on an H200 one compiler's source was a program, and another's was CUDA."""
    page = opened(context, on_disk(built, f"{COMPARED}&b=weight-view-eager-default-cpu-matrix")).page
    page.locator("details.stage-pair").first.wait_for(timeout=60_000)
    heads = page.locator("details.stage-pair summary").all_inner_texts()
    assert heads[0].startswith("FX graph | Operator trace · semantic")
    assert page.locator("table.diff").count() == 0


def test_texts_of_two_languages_are_told_apart_instead(built, context):
    page = opened(context, on_disk(built, PAGE) + "#stage-ptx").page
    said = page.locator("#stage-ptx p.since").inner_text()
    assert said == "Not compared with Triton GPU IR: mlir there, ptx here; no line of code is in both"
    assert page.locator("#stage-ptx details.since").count() == 0


def test_the_counts_are_there_without_scripts(built, browser):
    context = browser.new_context(java_script_enabled=False)
    said = opened(context, on_disk(built, PAGE)).page.locator("#stage-ttgir .since").text_content()
    context.close()
    assert COUNTS.search(said)
