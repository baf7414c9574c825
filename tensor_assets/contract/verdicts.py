"""The judgements of one output on one fixture: form, exact bits, outer interval, fixed tolerance."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from tensor_worker.program import Program

from tensor_assets.contract.arrays import hash_array
from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.contract.floats import Array, ordinal, storage
from tensor_assets.records import Verdict


def form_of(program: Program, name: str, outputs: Mapping[str, object]) -> str:
    """Why the output cannot be compared at all; empty if it can."""
    if name not in outputs:
        return "missing output"
    array, value = outputs[name], program.value(name)
    if type(array) is not np.ndarray:
        return f"no array but {type(array).__name__}"
    if array.dtype != storage(value.dtype):
        return f"wrong dtype {str(array.dtype)[:20]}, must be {value.dtype}"
    if array.shape != value.shape:
        return f"wrong shape {list(array.shape)}, must be {list(value.shape)}"
    return ""


def poisoned(output: Array, reference: Array) -> str:
    """What is wrong with elements that are no finite number; empty if all are (the reference always is)."""
    bad = ~np.isfinite(output)
    if not bad.any():
        return ""
    count = f"{np.count_nonzero(bad):,} of {output.size:,} elements"
    if np.isinf(output).any():
        return f"infinite or NaN: {count}"
    if same_bits(output[bad], np.full(1, np.nan, output.dtype)):
        return f"unwritten output: {count} still hold the poison"
    return f"NaN: {count}"


def same_bits(values: Array, pattern: Array) -> bool:
    integers = f"u{values.dtype.itemsize}"
    return bool((values.view(integers) == pattern.view(integers)).all())


def mutated(fixture: BuiltFixture, inputs_after: Mapping[str, object]) -> list[str]:
    """Names of inputs that are not what they were."""
    found: list[str] = []
    for name in fixture.inputs:
        array = inputs_after.get(name)
        if not isinstance(array, np.ndarray) or array.dtype.hasobject or hash_array(array) != fixture.hashes[name]:
            found.append(name)
    return found


def differing(program: Program, output: Array, reference: Array) -> Array:
    """Elements that are not the reference's bits; zeros are equal unless the program says otherwise."""
    with np.errstate(invalid="ignore"):
        different: Array = output != reference
    if program.signed_zero:
        different = different | (np.signbit(output) != np.signbit(reference))
    return different


def exact_verdict(program: Program, fixture: BuiltFixture, name: str, output: Array) -> Verdict:
    different = differing(program, output, fixture.reference[name])
    return _verdict(fixture, name, "exact", output, different)


def interval_verdict(fixture: BuiltFixture, name: str, output: Array) -> Verdict:
    """Whether every element is between its bounds; with the share that has one legal value, and the median width."""
    assert fixture.low is not None
    assert fixture.high is not None
    low, high = fixture.low[name], fixture.high[name]
    with np.errstate(invalid="ignore"):
        outside = ~((low <= output) & (output <= high))
    width = ordinal(high) - ordinal(low)
    return _verdict(
        fixture,
        name,
        "interval",
        output,
        outside,
        decided_share=float(np.mean(width == 0)),
        median_width_ulp=float(np.median(width)),
    )


def tolerance_verdict(program: Program, fixture: BuiltFixture, name: str, output: Array) -> Verdict:
    """The documents' fixed check, abs(a - r) <= absolute + relative·abs(r): reported, decides nothing."""
    absolute, relative = program.tolerance
    right = fixture.reference[name].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        beyond = ~(np.abs(output.astype(np.float64) - right) <= absolute + relative * np.abs(right))
    return _verdict(fixture, name, "tolerance", output, beyond)


def form_verdict(fixture: BuiltFixture, name: str, reason: str, elements: int = 0) -> Verdict:
    return Verdict(fixture=fixture.name, output=name, kind="form", passed=not reason, elements=elements, reason=reason)


def _verdict(
    fixture: BuiltFixture,
    name: str,
    kind: str,
    output: Array,
    wrong: Array,
    decided_share: float | None = None,
    median_width_ulp: float | None = None,
) -> Verdict:
    return Verdict(
        fixture=fixture.name,
        output=name,
        kind=kind,  # type: ignore[arg-type]
        passed=not wrong.any(),
        elements=int(output.size),
        mismatches=int(np.count_nonzero(wrong)),
        worst=_worst(output, fixture.reference[name]),
        decided_share=decided_share,
        median_width_ulp=median_width_ulp,
    )


def _worst(output: Array, reference: Array) -> float:
    """Largest finite distance to the reference."""
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(output.astype(np.float64) - reference.astype(np.float64))
    return float(np.where(np.isfinite(distance), distance, 0.0).max(initial=0.0))
