"""Finds the statements of a generated kernel that round FP32 to half, by following which values are half already.

Inductor's kernels assign every temporary once per loop body, so one pass in the order of the text is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .output_code import Kernel


@dataclass(frozen=True)
class _Dialect:
    """How one backend writes a conversion. Each pattern is matched against the right side of an assignment."""

    assignment: re.Pattern[str]
    store: re.Pattern[str]  # groups: pointer, value
    load: re.Pattern[str]  # group: pointer
    narrow: re.Pattern[str]  # group: value
    same: re.Pattern[str]  # widening or copy, group: value
    half_pointers: re.Pattern[str]
    selects: re.Pattern[str]  # the result is one of the operands


_TRITON = _Dialect(
    assignment=re.compile(r"^\s*(\w+) = (.+)$"),
    store=re.compile(r"^\s*tl\.store\((\w+) .*, (\w+), [^,]*\)$"),
    load=re.compile(r"^tl\.load\((\w+) "),
    narrow=re.compile(r"^(\w+)\.to\(tl\.float16\)$"),
    same=re.compile(r"^(\w+)(?:\.to\(tl\.float32\))?$"),
    half_pointers=re.compile(r"'(\w+)': '\*fp16'"),
    selects=re.compile(r"^(?:tl|triton_helpers)\.(?:maximum|minimum|max2|min2)\("),
)
_CPP = _Dialect(
    assignment=re.compile(r"^\s*auto (\w+) = (.+);$"),
    store=re.compile(r"^\s*(\w+)\[.*\] = (?:static_cast<[\w:]+>\()?(\w+)\)?;$"),
    load=re.compile(r"^(?:at::vec::Vectorized<at::Half>::loadu\()?(?:static_cast<[\w:]+>\()?(\w+)(?: \+|\[)"),
    narrow=re.compile(r"^(?:at::vec|c10)::convert<at::Half(?:,\d+,float,\d+)?>\((\w+)\)$"),
    same=re.compile(r"^(?:(?:at::vec|c10)::convert<float(?:,\d+,at::Half,\d+)?>)?\(?(\w+)\)?$"),
    half_pointers=re.compile(r"at::Half\* (\w+)"),
    selects=re.compile(r"^(?:at::vec::(?:maximum|minimum|clamp_min|clamp_max)|std::(?:max|min))\("),
)


def narrowings(kernel: Kernel) -> tuple[str, ...]:
    """The lines that round, in order: conversions whose operand was FP32 and whose result is used, and such stores.

    A loop's scalar remainder repeats the loop and is left out.
    """
    dialect = _CPP if kernel.language == "cpp" else _TRITON
    lines = list(_main_path(kernel))
    pointers = set(dialect.half_pointers.findall(kernel.text))
    half: set[str] = set()
    found: list[str] = []
    for index, line in enumerate(lines):
        if assigned := dialect.assignment.match(line):
            name, value = assigned[1], assigned[2]
            narrowed = dialect.narrow.match(value)
            if narrowed and narrowed[1] not in half and _used(name, lines[index + 1 :]):
                found.append(line.strip())
            if narrowed or _is_half(dialect, value, half, pointers):
                half.add(name)
            else:
                half.discard(name)
        elif (stored := dialect.store.match(line)) and stored[1] in pointers and stored[2] not in half:
            found.append(line.strip())
    return tuple(found)


def _is_half(dialect: _Dialect, value: str, half: set[str], pointers: set[str]) -> bool:
    if same := dialect.same.match(value):
        return same[1] in half
    if dialect.selects.match(value):
        named = re.findall(r"\btmp\d+\b", re.sub(r"decltype\(\w+\)", "", value))
        return bool(named) and all(name in half for name in named)
    if re.match(r"^tl\.full\(\[[\d, ]*\], -?\d+, tl\.int32\)$", value):
        return True  # a small whole number, as relu's zero
    loaded = dialect.load.match(value)
    return loaded is not None and loaded[1] in pointers


def _used(name: str, later: list[str]) -> bool:
    pattern = re.compile(rf"\b{name}\b")
    return any(pattern.search(line) for line in later)


def _main_path(kernel: Kernel) -> Iterator[str]:
    """C++: without the branches for what is left over of a vector loop."""
    skipping: str | None = None
    for line in kernel.text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        if skipping is not None:
            if line.rstrip() == f"{skipping}}}":
                skipping = None
        elif "C10_UNLIKELY(" in line:
            skipping = indent
        else:
            yield line
