"""Where each declared boundary is rounded, in the words of TensorIR, whose types leave nothing open."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tensor_worker.artifacts import Rounding
from tensor_worker.program import Op, Program
from tvm import IRModule

from .relax_reading import FusedCall, bindings


def roundings(
    program: Program, calls: Sequence[FusedCall], launches: Sequence[int], grouped: IRModule
) -> tuple[Rounding, ...]:
    """``launches`` holds, for each call, the launch that finishes it; ``grouped`` is the module before the functions
    of a group are merged, so that each step is a function of its own."""
    found = []
    for op in program.ops:
        if op.dtype != "f16" or op.op == "transpose":
            continue
        for call, launch in zip(calls, launches, strict=True):
            if op.name in call.computes and (words := _words(op, call, grouped)):
                found.append(Rounding(boundary=op.name, launch=launch, evidence=words))
    return tuple(found)


def _words(op: Op, call: FusedCall, grouped: IRModule) -> str:
    """The statement of the step that gives the op's FP16 value."""
    steps = _steps(call, grouped)
    function = steps.get(op.name)
    return "" if function is None else _statement(str(grouped[function].script()))


def _steps(call: FusedCall, grouped: IRModule) -> Mapping[str, str]:
    """The TensorIR function of every step of a call, by the name of the value."""
    names = {variable.name_hint for variable in grouped.get_global_vars()}
    if call.function not in names:
        return {}
    function = grouped[call.function]
    if not hasattr(function.body, "blocks"):
        return {call.writes: call.function}
    inner = bindings(function)
    last = inner[-1].name if inner else ""
    return {call.writes if binding.name == last else binding.name: binding.callee for binding in inner}


def _statement(script: str) -> str:
    """The last assignment of a function's text."""
    found = [line.strip() for line in script.splitlines() if re.match(r"\s+\w+\[[^=]*\] = ", line)]
    return found[-1] if found else ""
