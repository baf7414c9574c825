"""A query's answer as one short line: what a badge, a table and a message show of it."""

from __future__ import annotations

import json
from typing import Any

LONGEST = 160


def shown_value(value: Any, operator: str = "equals", expected: Any = None) -> str:
    """Compact JSON; of a long text, the lines that ``contains`` and ``in_order`` look for."""
    if isinstance(value, str) and operator in ("contains", "in_order", "lacks"):
        parts = expected if isinstance(expected, list) else [expected]
        return shortened(" … ".join(_line_with(value, part) for part in parts if isinstance(part, str)))
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        return shortened(" ".join(value.split()))
    return shortened(json.dumps(rounded(value), ensure_ascii=False))


def rounded(value: Any) -> Any:
    """Floats with six significant digits, everywhere inside."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return value


def shortened(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _line_with(text: str, part: str) -> str:
    line = next((" ".join(line.split()) for line in text.splitlines() if part in line), "")
    if not line:
        return f"no line with {part!r}" if part not in text else part
    place = max(0, line.find(part) - 30)
    return line if len(line) <= 100 else f"…{line[place : place + 90]}…"
