import msgspec
import pytest

from tensor_assets.errors import AllocationMismatch
from tensor_assets.records import CaptureRecord, Key, Outcome, Provenance
from tensor_assets.sessions.benchmark import summarize
from tensor_assets.sessions.lease import Lease
from tensor_assets.sessions.method import GPU, Axis
from tensor_assets.sessions.session import run_session
from tensor_assets_tests.sessions.simulated import Simulated, SimulatedGpu, Truth

pytestmark = pytest.mark.usefixtures("in_order")

METHOD = msgspec.structs.replace(GPU, name="two clocks", axes=(Axis("host"), Axis("graph"), Axis("device")))


def capture(compiler, fingerprint="code", status="ok"):
    return CaptureRecord(
        key=Key(workload="weight_view", shape="matrix_inspect", compiler=compiler, variant="default", target="cuda"),
        outcome=Outcome(status=status, reason="" if status == "ok" else "wrong numbers"),
        provenance=Provenance(created="2026-01-01T00:00:00Z"),
        fingerprint=fingerprint,
    )


@pytest.fixture
def session(program, fixtures, tmp_path):
    def session(truths, arms=None):
        simulated = Simulated()
        contenders = [simulated.contender(name, truth) for name, truth in truths.items()]
        contenders += [simulated.contender("tvm", truth, arm=arm) for arm, truth in (arms or {}).items()]
        return run_session(
            program,
            fixtures,
            contenders,
            target="cuda",
            method=METHOD,
            lease=Lease(tmp_path / "lease"),
            gpu=SimulatedGpu(),
        )

    return session


def slower(share):
    return Truth(ns={clock: ns * (1 + share) for clock, ns in Truth().ns.items()})


def timing(record, clock="host"):
    return next(timing for timing in record.timings if timing.clock == clock)


def test_a_cell_sees_its_processes_its_verdict_and_the_sessions_noise(session):
    record = session({"eager": Truth(), "tvm": slower(0.3), "max": slower(-0.2), "tinygrad": slower(0.001)})
    verdicts = {}
    for compiler in ("tvm", "max", "tinygrad"):
        found = timing(summarize("id", record, capture(compiler)))
        assert [series.replicate for series in found.series] == [0, 1, 2]
        assert found.comparison.baseline == "eager/default"
        assert found.noise_degrees == 8
        assert 0.0003 < found.noise < 0.003
        assert (found.aa_pairs, found.aa_alarms) == (12, 0)
        assert found.floor_ns > 0
        verdicts[compiler] = found.comparison.verdict
    assert verdicts == {"tvm": "slower", "max": "faster", "tinygrad": "same"}
    tvm = timing(summarize("id", record, capture("tvm")))
    assert tvm.median_ns == pytest.approx(52_000, rel=0.01)
    assert tvm.comparison.ratio == pytest.approx(1.3, rel=0.01)


def test_the_baseline_is_not_compared_with_itself(session):
    found = summarize("id", session({"eager": Truth(), "tvm": Truth()}), capture("eager"))
    assert timing(found).comparison is None
    assert found.outcome.status == "ok"


def test_old_and_new_of_one_compiler_are_compared_with_each_other(session):
    record = session({"eager": Truth(), "max": Truth()}, arms={"old": Truth(), "new": slower(0.2)})
    found = timing(summarize("id", record, capture("tvm"), arm="new"))
    assert found.comparison.baseline == "tvm/default@old"
    assert found.comparison.verdict == "slower"


def test_a_refused_clock_has_its_reason_and_no_number(session):
    record = session({"eager": Truth(), "tvm": Truth(refuses=("graph",))})
    found = timing(summarize("id", record, capture("tvm")), "graph")
    assert (found.median_ns, found.series) == (None, ())
    assert found.refused == "no device graph can be captured"
    assert found.comparison.verdict == "insufficient"
    assert found.comparison.ratio is None


def test_processes_with_another_fingerprint_stay_apart(session):
    record = session({"eager": Truth(), "tvm": Truth(fingerprints=("code", "other", "other"))})
    found = timing(summarize("id", record, capture("tvm")))
    assert [series.replicate for series in found.series] == [0]
    assert [series.replicate for series in found.apart] == [1, 2]
    assert found.noise_degrees == 3  # two of eager's, one of the pair apart


def test_a_process_whose_outputs_went_wrong_counts_nowhere(session):
    record = session({"eager": Truth(), "tvm": Truth(forgets=True)})
    found = summarize("id", record, capture("tvm"))
    assert timing(found).median_ns is None
    assert found.outcome.status == "rejected"
    assert "wrong after timing" in timing(found).refused


def test_a_process_that_tracing_killed_keeps_its_other_clocks(session):
    # 5 openings and 15 blocks on each of two clocks come before the first traced block.
    record = session({"eager": Truth(), "tvm": Truth(dies_at=40)})
    found = summarize("id", record, capture("tvm"))
    assert record.processes[1].outcome.status == "crashed"
    assert len(timing(found).series) == 3
    assert len(timing(found, "device").series) == 2


def test_times_beyond_the_device_leave_nothing(session):
    record = session({"eager": Truth(), "tvm": Truth(ns={"host": 0.01, "graph": 0.01, "device": 0.01})})
    found = summarize("id", record, capture("tvm"))
    assert found.outcome.status == "rejected"
    assert "beyond the device's limit" in timing(found).refused
    assert timing(found).comparison.verdict == "insufficient"


def test_a_session_of_another_implementation_is_not_joined(session):
    record = session({"eager": Truth(), "tvm": Truth()})
    with pytest.raises(AllocationMismatch, match="tvm/default"):
        summarize("id", record, capture("tvm", "recompiled"))


def test_what_was_not_in_the_session_is_blocked_with_its_reason(session):
    record = session({"eager": Truth()})
    assert summarize("id", record, capture("tvm")).outcome.status == "blocked"
    rejected = summarize("id", record, capture("tvm", status="rejected"))
    assert rejected.outcome.reason == "its capture was rejected: wrong numbers"
    assert rejected.timings == ()
