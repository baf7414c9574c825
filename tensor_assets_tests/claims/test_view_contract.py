"""The view is a promise to authors: fields may come, none may go or be called otherwise."""

from __future__ import annotations

import msgspec
import pytest

from tensor_assets.claims import view

# Part → fields that authors may have used. Add to it with the view; never take away.
PROMISED = {
    "Document": "workload shape compiler variant device version packages outcome reason graph stages activities "
    "kernels buffers intermediates storage_bytes roundings decisions notes search alternatives admission "
    "compile_seconds timings timeline effort",
    "GraphView": "stage nodes ops incomplete",
    "NodeView": "op role shape dtype computes inputs",
    "StageView": "level language produced_by text",
    "KernelView": "position kind name grid block threads registers shared_bytes parameters computes rounds instruction "
    "family matrix_opcodes opcodes sass ptx",
    "ActivityView": "kind name bytes grid block threads registers shared_bytes duration_us family opcodes",
    "BufferView": "name role bytes",
    "RoundingView": "boundary kernel evidence certain",
    "DecisionView": "subject result before after mechanism preconditions fixes leaves_open confirmed_by",
    "SearchView": "scope tried untimed seconds censored candidates",
    "CandidateView": "name chosen parameters predicted_us measured_us refused",
    "AlternativeView": "candidate outcome distinct fixtures",
    "AdmissionView": "admitted boundary reason exact interval tolerance",
    "JudgedView": "passed mismatches differences worst",
    "TimingView": "medians_us median_us low_us high_us noise verdict",
    "TrialView": "block outcome reason tried untimed compile_seconds median_us",
}


@pytest.mark.parametrize("part", PROMISED)
def test_no_promised_field_is_gone(part: str) -> None:
    kind: type[msgspec.Struct] = getattr(view, part)
    assert set(PROMISED[part].split()) <= set(kind.__struct_fields__)


def test_every_part_is_promised() -> None:
    parts = {name for name, kind in vars(view).items() if isinstance(kind, type) and issubclass(kind, view.View)}
    assert parts - {"View"} == set(PROMISED)
