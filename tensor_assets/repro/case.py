"""What a script is written from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from tensor_worker.program import Program

from tensor_assets.contract.arrays import Array
from tensor_assets.records import Status
from tensor_assets.workers.adapters import AdapterFolder


class Element(NamedTuple):
    """One wrong element of an output."""

    place: tuple[int, ...]
    expected: float
    seen: float


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What the compiler returned for one output when it was tried."""

    output: str
    elements: int
    mismatches: int
    examples: tuple[Element, ...] = ()


class Known(msgspec.Struct, frozen=True, kw_only=True, tag="known"):
    """A fixture as lines of NumPy that make its inputs and what the outputs must be, and the hashes of both."""

    program: Program
    lines: tuple[str, ...]
    inputs_sha256: str
    expected_sha256: str
    rows: int = 0  # the first rows alone, where the whole would not fit; 0: all


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration on one fixture."""

    adapter: AdapterFolder
    variant: str
    target: str
    status: Status  # how it ended: the script says whether it still does
    reason: str = ""
    boundary: str = ""
    deadline: float = 600.0  # seconds, of a search or build that was stopped
    fixture: str
    known: Known
    seen: tuple[Seen, ...] = ()
    packages: dict[str, str] = {}  # distribution → version, of the compiler and what it is used with
    python: str = ""
    record: str = ""  # id of the capture
    reduced: str = ""  # from what, in words

    @property
    def program(self) -> Program:
        return self.known.program

    @property
    def name(self) -> str:
        """A file's name, without its suffix."""
        parts = (self.program.workload, self.adapter.name, self.variant, self.target, self.program.shape)
        return "-".join("".join(c if c.isalnum() or c == "_" else "_" for c in part) for part in parts)


def compare(program: Program, expected: Mapping[str, Array], outputs: Mapping[str, Array]) -> tuple[Seen, ...]:
    """Every output against what it must be, bit for bit; zeros by value. One that cannot be compared is left out."""
    found = []
    for name in program.outputs:
        right, output = expected[name], outputs.get(name)
        if output is None or output.shape != right.shape or output.dtype != right.dtype:
            continue
        with np.errstate(invalid="ignore"):
            wrong = np.argwhere(output != right)
        examples = tuple(
            Element(tuple(int(i) for i in place), float(right[tuple(place)]), float(output[tuple(place)]))
            for place in wrong[:4]
        )
        found.append(Seen(output=name, elements=right.size, mismatches=len(wrong), examples=examples))
    return tuple(found)


def hashed(arrays: Mapping[str, Array], order: Sequence[str], *, zeros: bool = False) -> str:
    """Over the bytes in order; a -0 counts as 0 unless ``zeros`` are to be told apart."""
    digest = hashlib.sha256()
    for name in order:
        array = np.ascontiguousarray(arrays[name])
        digest.update((array if zeros else array + array.dtype.type(0)).tobytes())
    return digest.hexdigest()
