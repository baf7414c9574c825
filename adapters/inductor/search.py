"""Search effort: Inductor's autotuning tables, chosen beside rejected."""

from __future__ import annotations

from tensor_worker.artifacts import Search

from .evidence import Evidence
from .output_code import Kernel
from .recording import Choice
from .triton_kernels import Parameters, is_template, template_constants

_SCOPE = (
    "implementations of the contractions, benchmarked one by one by Inductor on buffers of its own; whether the "
    "winner also takes the epilogue in is decided by a later benchmark, so the fastest here need not be chosen"
)
# What tells two instances of a template apart.
_COMPARED = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M", "num_stages", "num_warps")


def search_effort(evidence: Evidence) -> Search | None:
    """None where nothing was benchmarked."""
    recording = evidence.recording
    if not recording.tables:
        return None
    candidates = tuple(
        choice.candidate(f"{table.operation} {' '.join(table.shapes)}", _is_chosen(evidence, choice))
        for table in recording.tables
        for choice in table.choices
    )
    return Search(
        scope=_SCOPE,
        tried=len(candidates),
        untimed=len(recording.waiting),
        seconds=_seconds(),
        candidates=candidates,
    )


def _is_chosen(evidence: Evidence, choice: Choice) -> bool:
    """A choice is found again by its library call, or by tile, warps and stages of the template that was emitted."""
    library = choice.parameters.get("kernel_call_name")
    if library is not None:
        return any(call.kernel is None and call.name == library for call in evidence.output.calls)
    wanted = {name: choice.parameters[name] for name in _COMPARED if name in choice.parameters}
    return bool(wanted) and any(_emitted(kernel) == wanted for kernel in evidence.output.kernels.values())


def _emitted(kernel: Kernel) -> Parameters:
    constants = template_constants(kernel) if is_template(kernel) else {}
    return {name: constants[name] for name in _COMPARED if name in constants}


def _seconds() -> float:
    """Precompiling and benchmarking, by Dynamo's own clock."""
    from torch._dynamo.utils import compilation_time_metrics

    wanted = ("_template_precompiling", "_template_autotuning")
    return float(sum(sum(times) for name, times in compilation_time_metrics.items() if name.endswith(wanted)))
