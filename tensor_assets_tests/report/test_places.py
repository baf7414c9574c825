"""Decisions point at stages that a page may not hold: then their words stand without a link."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from tensor_assets.report.cell_page import _placer
from tensor_assets.report.stages import Line, Pane

LINES = tuple(Line(number=number, html=Markup("x")) for number in (1, 2, 40))
PANE = Pane(id="tensor-uops", title="UOps", level="semantic", language="text", lines=LINES, total=40)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("tensor-uops", '<a href="#stage-tensor-uops">tensor-uops</a>'),
        ("tensor-uops:2-9", '<a href="#tensor-uops-2">tensor-uops:2-9</a>'),
        ("tensor-uops:7-9", '<a href="#stage-tensor-uops">tensor-uops:7-9</a>'),  # a line that was cut out
        ("the program's matmul", "the program&#39;s matmul"),
        ("<b>:1", "&lt;b&gt;:1"),
    ],
)
def test_places(place, expected):
    assert _placer([PANE])(place) == expected
