"""What the executable dispatches, and which part of a dispatch's host function belongs to which routine.

For a GPU, MAX compiles routines that follow each other into one host function, whose summary is a sequence. Each
routine's part of it ends where an error would be reported, under the routine's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from .code import RoutineCode

_TABLE = re.compile(r'mgp\.module\.load .*?\[((?:"[^"]*"(?:, )?)*)\]')
_INDEX = re.compile(r"\b(cFunctionIndex = )(\d+)( : ui64)")
_EXECUTE = re.compile(r'cFunctionIndex = (\d+) : ui64, dSummary = "((?:[^"\\]|\\.)*)"')
_SEQUENCE = "Sequence("

Reference = tuple[int, str]  # offset in the function, symbol


@dataclass(frozen=True)
class Dispatch:
    """One call of the executable: its host function, and how many routines of the MGP program that holds."""

    symbol: str
    routines: int


class Reached(Protocol):
    """A function of the host object, as far as dividing it needs (objects.Function)."""

    @property
    def name(self) -> str: ...
    @property
    def references(self) -> tuple[Reference, ...]: ...


class Host(Protocol):
    """The host object, as far as dividing it needs (objects.HostObject)."""

    def data(self, symbol_name: str) -> bytes: ...
    def closure(self, symbol: str) -> Sequence[Reached]: ...


def function_table(text: str) -> list[str] | None:
    """The executable's functions, as it calls them by index; None where it loads no module."""
    found = _TABLE.search(text)
    return re.findall(r'"([^"]*)"', found[1]) if found else None


def compared_form(text: str) -> str:
    """``text`` with its function table sorted and each call naming its function: MAX orders the table anew in each run.

    A function's name is a hash of what it holds, so nothing that the text says is lost.
    """
    found, table = _TABLE.search(text), function_table(text) or []
    if found is None or not all(int(index) < len(table) for _, index, _ in _INDEX.findall(text)):
        return text
    listed = ", ".join(f'"{name}"' for name in sorted(table))
    return _INDEX.sub(
        lambda call: f'{call[1]}"{table[int(call[2])]}"', f"{text[: found.start(1)]}{listed}{text[found.end(1) :]}"
    )


def read_dispatches(text: str, table: Sequence[str]) -> tuple[Dispatch, ...]:
    """The dispatches that compute something, in order. ``table`` is the executable's function table."""
    found = [(table[int(index)], count_routines(summary)) for index, summary in _EXECUTE.findall(text)]
    return tuple(Dispatch(symbol, routines) for symbol, routines in found if routines)


def count_routines(summary: str) -> int:
    """A routine is an element of the summary that names an operation of the MO dialect, however it is fused."""
    elements = _elements(summary.removeprefix(_SEQUENCE)) if summary.startswith(_SEQUENCE) else [summary]
    return sum("mo." in element for element in elements)


def _elements(text: str) -> Iterator[str]:
    """Splits at the commas of the outermost level, up to the parenthesis that closes it."""
    depth, start = 0, 0
    for index, character in enumerate(text):
        if character in "([":
            depth += 1
        elif character in ")]" and depth:
            depth -= 1
        elif character in ",)" and not depth:
            yield text[start:index]
            start = index + 1


def routines_of(dispatches: Sequence[Dispatch], routines: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """The symbol of every dispatch with the names of its routines; both stages keep one order.

    Raises ValueError where the two stages differ in how many there are.
    """
    held = sum(dispatch.routines for dispatch in dispatches)
    if held != len(routines):
        raise ValueError(f"MAX's executable dispatches {held} routines, its MGP program {len(routines)}")
    remaining = iter(routines)
    return [(each.symbol, tuple(next(remaining) for _ in range(each.routines))) for each in dispatches]


def divide(host: Host, symbol: str, routines: Sequence[str]) -> dict[str, list[Reference]]:
    """By routine, what its part of the host function refers to, in address order.

    A routine that is called twice has the references of both calls; one that is a function of its own is the reference
    that reaches it. Raises ValueError where the function does not name one of ``routines``.
    """
    marks = {f"__{name}\0".encode(): name for name in routines}
    parts: dict[str, list[Reference]] = {}
    part: list[Reference] = []
    for offset, name in _function(host, symbol).references:
        part.append((offset, name))
        data = (host.data(each) for each in reached_symbols(host, [(offset, name)]))
        if ended := next((marks[held] for held in data if held in marks), None):
            parts.setdefault(ended, []).extend(part)
            part = []
    if missing := [name for name in routines if name not in parts]:
        raise ValueError(f"MAX's host function {symbol} does not name its routine {missing[0]}")
    return parts


def reached_symbols(host: Host, references: Sequence[Reference]) -> list[str]:
    """The symbols referred to, and those that their functions reach, in the order met."""
    found: dict[str, None] = {}
    for _, name in references:
        found[name] = None
        for function in host.closure(name):
            found.update(dict.fromkeys(reached for _, reached in function.references))
    return list(found)


def share_fetched(
    codes: Sequence[RoutineCode], contracting: Sequence[bool], calls: tuple[str, ...]
) -> list[RoutineCode]:
    """Routines of one host function, which makes the library ``calls``: only a routine that contracts makes any.

    The call of a contraction may stand outside its part: in a block that the compiler moved behind the last part, or
    at an address that an earlier part fetched and that waits on the stack. It is then inferred. For the same reason a
    part that refers to nothing runs the kernels that were fetched before it.
    """
    shared: list[RoutineCode] = []
    for code, contracts in zip(codes, contracting, strict=True):
        if not code.kernels and not code.library_calls and shared:
            code = replace(code, kernels=shared[-1].kernels)
        if not contracts:
            code = replace(code, library_calls=())
        elif calls and not code.library_calls:
            code = replace(code, library_calls=calls, inferred=True)
        shared.append(code)
    return shared


def _function(host: Host, symbol: str) -> Reached:
    closure = host.closure(symbol)
    if not closure:
        raise ValueError(f"MAX's object has no function {symbol}")
    return closure[0]
