"""Runs TVM's pipelines and keeps the module after each pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tvm
import tvm_ffi
from tensor_worker.adapter import Unsupported
from tvm import IRModule, relax
from tvm.target import Target

# Variants and what is put in front of the pipeline, or instead of it.
PIPELINES: dict[str, Callable[[Target], tvm.transform.Pass]] = {
    "default": lambda target: relax.get_default_pipeline(target),
    "transpose_fused": lambda target: tvm.transform.Sequential(
        [relax.transform.FuseTransposeMatmul(), relax.get_default_pipeline(target)]
    ),
    "unfused": lambda target: relax.get_pipeline("default_build"),
}


@dataclass(frozen=True)
class Passed:
    """The module as a pass left it."""

    number: int
    name: str
    module: IRModule
    changed: bool


@tvm.instrument.pass_instrument
class PassRecorder:
    """Keeps every module; ``everything`` also finds out which passes changed it."""

    def __init__(self, everything: bool) -> None:
        self.passed: list[Passed] = []
        self._everything = everything
        self._last = 0

    def run_after_pass(self, module: IRModule, info: tvm.transform.PassInfo) -> None:
        changed = True
        if self._everything:
            now = tvm_ffi.structural_hash(module, map_free_vars=True)
            changed, self._last = now != self._last, now
        # A pass may change its module in place (ApplyDefaultSchedule does), so the functions are kept, not the module.
        kept = IRModule(dict(module.functions_items()), attrs=module.attrs)
        self.passed.append(Passed(len(self.passed), str(info.name), kept, changed))

    def after(self, *names: str) -> IRModule | None:
        """The module after the last of the named passes that ran, the first name first; None where none ran."""
        for name in names:
            found = [passed.module for passed in self.passed if passed.name == name]
            if found:
                return found[-1]
        return None


def pipeline(variant: str, target: Target) -> tvm.transform.Pass:
    """Raises Unsupported for a variant that TVM has not, or not for this target."""
    if variant not in PIPELINES:
        raise Unsupported(f"TVM's adapter has no variant {variant!r} (have: {', '.join(PIPELINES)})")
    if variant == "unfused" and target.kind.name != "llvm":
        raise Unsupported("the unfused pipeline schedules nothing, and code for a GPU needs a schedule")
    return PIPELINES[variant](target)
