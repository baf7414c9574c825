"""A fixture's inputs as lines of NumPy that draw them again: the fixture's own stream of numbers, spelled out.

The lines are found by trying what the recipes do, and each is kept only if it gives the recorded array, element for
element. An array that none of them gives is carried in the script, if it is small.
"""

from __future__ import annotations

import base64
import hashlib
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tensor_worker.program import Program

from tensor_assets.contract.arrays import Array
from tensor_assets.contract.draws import Draws
from tensor_assets.contract.floats import Float64
from tensor_assets.errors import ReproRefused

Words = NDArray[np.uint64]

LARGEST = 64 * 1024  # bytes of packed arrays in one script: a bug report is read by people
# Largest integers that the grids draw: every bit width, and the full mantissa's.
_LARGEST = (127, 15, 7, 3, 1, 2000, 1023, 511, 255, 63, 31)
_ATTEMPTS = 6  # draws that a recipe may have thrown away before
_SAMPLE = 64
_PIECE = 64 * 1024


class _Form(NamedTuple):
    """``code`` of an array, where ``{i}`` is an integer draw from ``low`` to ``high``; ``make`` does the same."""

    low: int
    high: int
    code: str
    make: Callable[[Float64], Float64]


_FORMS = (
    *(_Form(-largest, largest, "{i}", lambda drawn: drawn) for largest in _LARGEST),
    _Form(32, 63, "(2 * {i} + 1)", lambda drawn: 2 * drawn + 1),
    _Form(-2047, 2047, "{i}", lambda drawn: drawn),
)


class Packing:
    """How many bytes a script still may carry."""

    def __init__(self, left: int = LARGEST) -> None:
        self.left = left


def input_line(
    program: Program, name: str, array: Array, key: str, known: Mapping[str, Float64], packing: Packing
) -> str:
    """An expression for input ``name``. ``known``: every value computed before it, by name.

    Raises ReproRefused if no recipe gives it and it is too large to carry.
    """
    wanted = array.astype(np.float64)
    found = next(chain(_drawn(name, wanted, key), _opposite(name, wanted, key, known)), "")
    return found or _packed(name, array, packing)


def _drawn(name: str, wanted: Float64, key: str) -> Iterator[str]:
    if not wanted.any():
        yield f"np.zeros({wanted.shape})"
        return
    stream, count = _Stream(f"{key}/{name}"), wanted.size
    lying = [("", wanted), (".T", wanted.T)] if wanted.ndim == 2 else [("", wanted)]
    for attempt in range(_ATTEMPTS):
        words = stream.words(count)
        for turn, target in lying:
            for form in _FORMS:
                if code := _as_form(target, words, form):
                    skip = f", skip={attempt * count}" if attempt else ""
                    draw = f'integers("{key}/{name}", {target.shape}, {form.low}, {form.high}{skip})'
                    drawn = f"{form.code.format(i=draw)} * {code}"
                    yield f"({drawn}).T" if turn else drawn


class _Stream:
    """The raw words of ``Draws``, a stretch at a time."""

    def __init__(self, key: str) -> None:
        digest = hashlib.sha256(key.encode()).digest()
        self._generator = np.random.Philox(key=int.from_bytes(digest[:16], "little"))

    def words(self, count: int) -> Words:
        return self._generator.random_raw(count)


def _as_form(target: Float64, words: Words, form: _Form) -> str:
    """The power of two that makes the form's integers ``target``, as code; empty if none does."""
    flat = target.reshape(-1)
    some = form.make(_integers(words[:_SAMPLE], form))
    scale = _scale(some, flat[:_SAMPLE])
    if not scale or not np.array_equal(some * scale, flat[:_SAMPLE]):
        return ""
    whole = form.make(_integers(words, form))
    return f"2.0**{round(math.log2(scale))}" if np.array_equal(whole * scale, flat) else ""


def _integers(words: Words, form: _Form) -> Float64:
    """As ``Draws.integers`` scales them."""
    scaled = ((words >> np.uint64(32)) * np.uint64(form.high - form.low + 1)) >> np.uint64(32)
    return scaled.astype(np.float64) + form.low


def _scale(drawn: Float64, wanted: Float64) -> float:
    places = np.flatnonzero(drawn)
    if not len(places):
        return 0.0
    scale = float(wanted[places[0]] / drawn[places[0]])
    return scale if scale > 0 and math.frexp(scale)[0] == 0.5 else 0.0


def _opposite(name: str, wanted: Float64, key: str, known: Mapping[str, Float64]) -> Iterator[str]:
    """Minus (or plus) a row, a column or all of a value that was computed before."""
    for other, value in known.items():
        for sign, word in ((-1.0, "-"), (1.0, "")):
            signed = sign * wanted
            if value.ndim == 2 and signed.shape == value.shape[1:]:
                rows = np.flatnonzero((value[:, :_SAMPLE] == signed[:_SAMPLE]).all(axis=1))
                yield from (f"{word}{other}[{row}]" for row in rows if np.array_equal(value[row], signed))
            if signed.shape == value.shape:
                own = Draws(key, name).integers(signed.shape, 0, 1) == 0
                if np.array_equal(np.where(own, value, np.roll(value, 1, axis=0)), signed):
                    own_code = f'integers("{key}/{name}", {signed.shape}, 0, 1) == 0'
                    yield f"{word}np.where({own_code}, {other}, np.roll({other}, 1, axis=0))"


def _packed(name: str, array: Array, packing: Packing) -> str:
    packed = base64.b85encode(_compressed(np.ascontiguousarray(array).tobytes(), packing.left)).decode()
    packing.left -= len(packed)
    if packing.left < 0:
        raise ReproRefused(
            f"input {name} ({'×'.join(map(str, array.shape))}) is too large for a script and no draw gives it again"
        )
    return f'unpacked("{array.dtype}", {array.shape}, {packed!r})'


def _compressed(data: bytes, enough: int) -> bytes:
    """All of ``data``, or more than ``enough`` bytes of it: what is too large need not be compressed to its end."""
    compressor, packed = zlib.compressobj(9), b""
    for start in range(0, len(data), _PIECE):
        packed += compressor.compress(data[start : start + _PIECE])
        if len(packed) > enough:
            return packed
    return packed + compressor.flush()
