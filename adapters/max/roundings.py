"""Where each boundary of the program is rounded, in the words of MAX's typed routines (MOGG)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tensor_worker.artifacts import Launch, Rounding
from tensor_worker.program import Op, Program

from .locations import Locations
from .routines import Invocation, Routine

# From the most to the least specific: an element's operation, what a kernel hands to its epilogue, what it stores.
_ELEMENT = re.compile(r"= mogg\.call\.elementwise @([\w.]+)\([^)]*\).* -> f16\b")
_EPILOGUE = re.compile(r"= mogg\.tensor\.create\.epilogue .*\(%val : f16,")
_KERNEL = "mogg.call.opaque"
_OUTPUT = re.compile(r"= mogg\.tensor\.create\(.*elementType = f16, io = Output")


def roundings(
    program: Program, invocation: Invocation, steps: Sequence[tuple[Launch, int | None]], text: str
) -> Iterator[Rounding]:
    """One for every FP16 op that computes something; a view rounds nothing."""
    lines = text.splitlines()
    locations = Locations(lines, [op.name for op in program.ops])
    for op in program.ops:
        if op.dtype == "f16" and op.op != "transpose":
            found = _rounding(op, invocation, steps, lines, locations)
            if found is not None:
                yield found


def _rounding(
    op: Op,
    invocation: Invocation,
    steps: Sequence[tuple[Launch, int | None]],
    lines: list[str],
    locations: Locations,
) -> Rounding | None:
    for position, (launch, index) in enumerate(steps):
        if index is None or op.name not in launch.computes:
            continue
        routine = invocation.routines[index]
        if launch.kind == "library":
            evidence = _stored(launch.name, routine, lines)
        else:
            evidence = _evidence(op, routine, lines, locations)
        if evidence:
            return Rounding(boundary=op.name, launch=position, evidence=evidence)
    return None


def _evidence(op: Op, routine: Routine, lines: list[str], locations: Locations) -> str:
    body = range(routine.body[0], routine.body[1])
    own = [(number, lines[number - 1]) for number in body if op.name in locations.of_line(lines[number - 1])]
    elements = [f"{match[1]} … -> f16 (mgp:{number})" for number, line in own if (match := _ELEMENT.search(line))]
    if elements:
        return elements[-1]
    words = {number: lines[number - 1] for number in body}
    for number, line in words.items():
        if _EPILOGUE.search(line) and any(_KERNEL in text for _, text in own):
            return f"{routine.kernel} hands %val : f16 to its epilogue (mgp:{number})"
    return _stored(routine.kernel, routine, lines)


def _stored(writer: str, routine: Routine, lines: list[str]) -> str:
    """The routine's output buffer: what a library call writes, and a kernel without an epilogue."""
    for number in range(routine.body[0], routine.body[1]):
        if _OUTPUT.search(lines[number - 1]):
            return f"{writer} stores elementType = f16 (mgp:{number})"
    return ""
