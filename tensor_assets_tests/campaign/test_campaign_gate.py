"""Each compiler is gated by its own gemm, and waits for nobody else's."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tensor_assets.campaign import campaign
from tensor_assets.campaign.campaign import Request, _Campaign
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.stored import Stored
from tensor_assets.campaign.workspace import Workspace
from tensor_assets_tests.campaign.conftest import add_compiler

SMALL = Options(target="cpu", shape="matrix_inspect")
PATIENCE = 60.0  # seconds; only a campaign that is wrong needs them


def captured(space: Workspace, workloads: tuple[str, ...]) -> _Campaign:
    running = _Campaign(space, Request(workloads=workloads, compilers=("slow", "quick"), options=SMALL))
    running._capture()
    return running


def test_a_compiler_through_its_gate_does_not_wait_for_another_ones(monkeypatch: pytest.MonkeyPatch):
    """Two at once: the slow compiler's gate ends only after both of the quick one's other captures did."""
    ended: list[tuple[str, str]] = []
    quick_is_done = threading.Event()

    def capture(_space: Workspace, workload: str, compiler: str, _options: Options) -> list[Stored]:
        if (workload, compiler) == ("gemm", "slow"):
            assert quick_is_done.wait(PATIENCE), "the quick compiler was held back by the slow one's gate"
        ended.append((workload, compiler))
        if {("bias", "quick"), ("relu", "quick")} <= set(ended):
            quick_is_done.set()
        return [Stored(f"{workload} of {compiler}", None)]

    monkeypatch.setattr(campaign, "at_once", lambda: 2)
    monkeypatch.setattr(campaign, "capture_cell", capture)
    monkeypatch.setattr(_Campaign, "_offered", lambda *_: ())
    running = captured(Workspace(), ("bias", "gemm", "relu"))
    gate = ended.index(("gemm", "slow"))
    assert {ended.index(("bias", "slow")), ended.index(("relu", "slow"))} == {gate + 1, gate + 2}
    assert [stored.id for stored in running._captures] == [
        f"{workload} of {compiler}" for workload in ("gemm", "bias", "relu") for compiler in ("slow", "quick")
    ]


def test_without_a_gate_among_its_workloads_nobody_waits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(campaign, "capture_cell", lambda _space, workload, compiler, _options: [Stored("", None)])
    monkeypatch.setattr(_Campaign, "_offered", lambda *_: ())
    assert len(captured(Workspace(), ("bias", "relu"))._captures) == 4


def test_a_shut_gate_shuts_out_its_own_compiler_alone(space: Workspace, adapters: Path):
    add_compiler(adapters, "quick")
    broken = add_compiler(adapters, "slow") / "adapter.py"
    broken.write_text(broken.read_text() + "\n\nADAPTER.compile = lambda *_: 1 / 0\n")
    found = captured(space, ("gemm", "bias"))._captures
    statuses = {
        (one.record.key.workload, one.record.key.compiler): one.record.outcome.status
        for one in found
        if one.record.key.variant == "default"
    }
    assert statuses == {
        ("gemm", "slow"): "crashed",
        ("bias", "slow"): "blocked",
        ("gemm", "quick"): "ok",
        ("bias", "quick"): "ok",
    }
