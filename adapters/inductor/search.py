"""Search effort: Inductor's autotuning tables, chosen beside rejected."""

from __future__ import annotations

import ast

from tensor_worker.artifacts import Candidate, Search

from .evidence import Evidence
from .output_code import Kernel
from .recording import Autotuned, Choice
from .triton_kernels import Parameters, is_template, template_constants

_SCOPE = (
    "implementations of the contractions, benchmarked one by one by Inductor on buffers of its own; whether the "
    "winner also takes the epilogue in is decided by a later benchmark, so the fastest here need not be chosen"
)


def search_effort(evidence: Evidence) -> Search | None:
    """None where nothing was benchmarked."""
    tables = evidence.recording.tables
    if not tables:
        return None
    candidates = tuple(
        _candidate(evidence, table, choice, numbered=len(tables) > 1) for table in tables for choice in table.choices
    )
    return Search(scope=_SCOPE, tried=len(candidates), seconds=_seconds(), candidates=candidates)


def _candidate(evidence: Evidence, table: Autotuned, choice: Choice, numbered: bool) -> Candidate:
    chosen = _is_chosen(evidence, choice)
    refused = "" if chosen else ("slower" if choice.milliseconds is not None else "did not compile or run")
    return Candidate(
        name=f"{table.operation} {' '.join(table.shapes)}: {choice.name}" if numbered else choice.name,
        chosen=chosen,
        parameters=_parameters(choice),
        measured_ns=None if choice.milliseconds is None else choice.milliseconds * 1e6,
        refused=refused,
    )


def _is_chosen(evidence: Evidence, choice: Choice) -> bool:
    """A choice is found again by its library call, or by tile, warps and stages of the template that was emitted."""
    library = choice.details.get("kernel_call_name")
    if library is not None:
        return any(call.kernel is None and call.name == library for call in evidence.output.calls)
    wanted = _tile(choice)
    return bool(wanted) and any(_emitted(kernel) == wanted for kernel in evidence.output.kernels.values())


def _emitted(kernel: Kernel) -> Parameters:
    constants = template_constants(kernel) if is_template(kernel) else {}
    return {name: constants[name] for name in _COMPARED if name in constants}


_COMPARED = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M", "num_stages", "num_warps")


def _tile(choice: Choice) -> Parameters:
    parameters = _parameters(choice)
    return {name: parameters[name] for name in _COMPARED if name in parameters}


def _parameters(choice: Choice) -> Parameters:
    """Inductor reports ``tile_shape`` as (BLOCK_M, BLOCK_K, BLOCK_N)."""
    found: Parameters = {"kind": choice.kind, **{k: _number(v) for k, v in choice.details.items() if k != "tile_shape"}}
    if "tile_shape" in choice.details:
        m, k, n = ast.literal_eval(choice.details["tile_shape"])
        found |= {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}
    return found


def _number(text: str) -> str | int:
    return int(text) if text.lstrip("-").isdigit() else text


def _seconds() -> float:
    """Precompiling and benchmarking, by Dynamo's own clock."""
    from torch._dynamo.utils import compilation_time_metrics

    wanted = ("_template_precompiling", "_template_autotuning")
    return float(sum(sum(times) for name, times in compilation_time_metrics.items() if name.endswith(wanted)))
