"""The same chart for a phone: as wide as its page, panels below each other, long labels above what they name."""

from __future__ import annotations

import copy
import math
import textwrap
from collections.abc import Iterator
from typing import Any

Spec = dict[str, Any]

WIDTH = 326  # pixels: a page's text on a screen of 360
_LETTER = 6.2  # pixels, of a label's 11 points; a little wide, so that estimates err towards room
_SIDE_LABEL = 18  # letters: longer ones would leave a plot less than two thirds of the width
_ABOVE = {"labelAlign": "left", "labelBaseline": "bottom", "labelPadding": 0, "labelOffset": -9, "labelLimit": WIDTH}
_CLEAR = 10  # pixels between an axis at the top and the first label
_STEP_ABOVE = 36  # pixels a row, label and mark


def narrowed(spec: Spec) -> Spec:
    """``spec`` at ``WIDTH`` pixels, without its title: on a narrow screen the page writes it above the drawing."""
    narrow = copy.deepcopy({name: value for name, value in spec.items() if name not in ("title", "datasets")})
    narrow["datasets"] = spec.get("datasets", {})  # the bulk of it, and the same for both
    if "hconcat" in narrow:
        narrow["vconcat"] = narrow.pop("hconcat")
    for axis in _channels(narrow, "x"):
        _wrap_title(axis)
    for colour in (*_channels(narrow, "color"), *_channels(narrow, "shape")):
        _wrap_legend(colour, narrow)
    if "vconcat" in narrow:
        for view in narrow["vconcat"]:
            view["width"] = _beside_labels(view, narrow)
    elif "facet" in narrow:
        _fold(narrow)
    else:
        _fit(narrow)
    return narrow


def _fit(narrow: Spec) -> None:
    """One plot: as wide as the labels beside it leave room, which the drawer itself finds out."""
    if "width" not in narrow:
        return
    above = _longest(narrow, narrow) > _SIDE_LABEL
    if above:
        for channel in _channels(narrow, "y"):
            channel["axis"] = (channel.get("axis") or {}) | _ABOVE
        for channel in _channels(narrow, "x"):
            if (channel.get("axis") or {}).get("orient") == "top":
                channel["axis"]["offset"] = _CLEAR
        narrow["height"] = {"step": _STEP_ABOVE}
    if isinstance(height := narrow.get("height"), dict):  # the drawer warns of a step beside a width to fit
        narrow["height"] = height["step"] * len(_labels(narrow, narrow))
    narrow["width"] = WIDTH
    narrow["autosize"] = {"type": "fit-x", "contains": "padding"}
    narrow["padding"] = {"left": 2, "top": 14 if above else 4, "bottom": 4, "right": _overhang(narrow)}


def _fold(narrow: Spec) -> None:
    """Panels in a row become a grid of two columns."""
    narrow["facet"], narrow["columns"] = narrow["facet"]["column"], 2
    spacing = narrow.get("spacing", 20)
    narrow["spec"]["width"] = (_beside_labels(narrow["spec"], narrow) - spacing) // 2


def _beside_labels(view: Spec, narrow: Spec) -> int:
    return WIDTH - math.ceil(_LETTER * _longest(view, narrow)) - 14


def _longest(view: Spec, narrow: Spec) -> int:
    """Letters of the longest label of the rows."""
    return max(map(len, _labels(view, narrow)), default=0)


def _labels(view: Spec, narrow: Spec) -> set[str]:
    fields = {y["field"] for y in _channels(view, "y") if y.get("type") == "nominal" and y.get("axis", {}) is not None}
    return {str(row[field]) for row in _rows(narrow) for field in fields if field in row}


def _overhang(narrow: Spec) -> int:
    """Pixels that the text beside the rightmost mark needs."""
    widths = [4.0]
    for layer in narrow.get("layer", ()):
        mark, encoding = layer["mark"], layer.get("encoding", {})
        if isinstance(mark, dict) and mark.get("type") == "text" and mark.get("align") == "left" and "x" in encoding:
            x, text = encoding["x"]["field"], encoding["text"]["field"]
            rows = [row for row in _rows(narrow) if isinstance(row.get(x), int | float) and text in row]
            widths += [_LETTER * len(str(max(rows, key=lambda row: row[x])[text]))] if rows else []
    return math.ceil(max(widths))


def _wrap_title(channel: Spec) -> None:
    if isinstance(title := channel.get("title"), str):
        lines = textwrap.wrap(title, 36)
        channel["title"] = lines if len(lines) > 1 else title


def _wrap_legend(channel: Spec, narrow: Spec) -> None:
    """As many entries a line as fit."""
    legend = channel.get("legend")
    if isinstance(legend, dict) and legend.get("orient") == "top":
        names = channel.get("scale", {}).get("domain") or [row.get(channel["field"], "") for row in _rows(narrow)]
        widest = max((len(str(name)) for name in names), default=1)
        legend["columns"] = max(1, int(WIDTH // (_LETTER * widest + 24)))


def _rows(narrow: Spec) -> Iterator[dict[str, Any]]:
    for rows in narrow.get("datasets", {}).values():
        yield from rows


def _channels(view: Any, name: str) -> Iterator[Spec]:
    """Every encoding called ``name`` in a view and the views inside it."""
    if isinstance(channel := view.get("encoding", {}).get(name), dict):
        yield channel
    for inner in (*view.get("layer", ()), *view.get("vconcat", ()), *([view["spec"]] if "spec" in view else ())):
        yield from _channels(inner, name)
