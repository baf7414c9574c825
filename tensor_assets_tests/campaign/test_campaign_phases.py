"""What a campaign says it cost."""

from __future__ import annotations

import pytest

from tensor_assets.campaign import campaign
from tensor_assets.campaign.campaign import Request, _Campaign, run_campaign
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.stored import Stored
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.errors import SettingsError
from tensor_assets.records import Allocation, Key, Outcome, Provenance, SessionRecord

SPENT = {"compile": 100.0, "search": 7.0, "wait": 40.0, "timing": 20.0, "recheck": 3.0, "teardown": 1.0}
SESSION = SessionRecord(
    key=Key(workload="gemm"),
    outcome=Outcome(status="ok"),
    provenance=Provenance(created="2026-12-02T10:00:00.000+00:00", seconds=SPENT),
    allocation=Allocation(id="a", device="cpu"),
    seed=0,
    processes=(),
    blocks=(),
)


def test_a_search_that_a_compiler_does_not_offer_is_told_before_the_work(space, monkeypatch) -> None:
    monkeypatch.setattr(campaign, "fixture_records", lambda *_: pytest.fail("hours of work"))
    options = Options(target="cpu", shape="matrix_inspect")
    request = Request(workloads=("gemm",), compilers=("toy",), options=options, efforts=(("gemm", "toy"),))
    with pytest.raises(SettingsError, match=r"toy offers no search on cpu \(levels: default\)"):
        run_campaign(space, request)


@pytest.mark.parametrize(
    ("reused", "compiling", "timing", "waiting"), [(False, (107.0, 100.0), 24.0, [40.0]), (True, (0.0, 0.0), 0.0, [])]
)
def test_a_phase_costs_what_this_campaign_spent(monkeypatch, reused, compiling, timing, waiting) -> None:
    """Not what an earlier one spent on the session that is taken up again, and waiting for others is no timing."""
    monkeypatch.setattr(campaign, "time_workload", lambda *_: Stored("id", SESSION, reused=reused))
    running = _Campaign(Workspace(), Request(workloads=("gemm",), compilers=(), options=Options()))
    running._time("gemm")
    seconds = {phase.name: (phase.seconds, phase.idle_seconds) for phase in running._phases}
    assert seconds.pop("compile gemm") == compiling
    assert seconds.pop("time gemm") == (timing, 0.0)
    assert list(seconds.values()) == [(one, one) for one in waiting]
