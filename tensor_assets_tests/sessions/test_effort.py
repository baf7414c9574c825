from collections import Counter

import msgspec
import pytest
from tensor_worker.artifacts import Candidate, Capture, Search
from tensor_worker.candidates import note_candidate, read_candidates
from tensor_worker.messages import Compile, GetStages, Stages, Time

from tensor_assets.evidence.schema import decode
from tensor_assets.records import Outcome
from tensor_assets.sessions.effort import compare_effort, paired_ratios
from tensor_assets.sessions.lease import Lease
from tensor_assets.workers.failure import WorkerFailed
from tensor_assets_tests.sessions import simulated as simulation
from tensor_assets_tests.sessions.simulated import Simulated, SimulatedGpu, Truth


class Searching(simulation.SimulatedWorker):
    """A worker that tells its search; ``never`` ends one, after two candidates."""

    def ask(self, request, deadline=None):
        if isinstance(request, GetStages):
            return Stages(capture=Capture(stages=(), search=Search(scope="timed here", tried=7, seconds=1.5)))
        if isinstance(request, Compile) and self.truth.fails_to_compile == "never":
            self.truth.on_ask(request)
            for name in ("tile 64", "tile 128"):
                note_candidate(self.folder / "search-dump", Candidate(name=name, chosen=False, measured_ns=5e3))
            raise WorkerFailed(Outcome(status="censored", reason=f"no answer to compile within {deadline:g} s"))
        return super().ask(request, deadline)


@pytest.fixture
def compare(program, fixtures, tmp_path, monkeypatch):
    monkeypatch.setattr(simulation, "SimulatedWorker", Searching)

    def compare(truths, **options):
        simulated = Simulated()
        contenders = [simulated.contender("tinygrad", truth, variant) for variant, truth in truths.items()]
        return compare_effort(
            program,
            fixtures,
            contenders,
            target="cuda",
            lease=Lease(tmp_path / "lease"),
            gpu=SimulatedGpu(),
            **options,
        )

    return compare


def host(ns):
    return Truth(ns={"host": ns})


def test_each_block_has_every_variant_once_in_balanced_order(compare):
    record = compare({"default": host(40_000), "tuned": host(36_000), "expanded": host(32_000)})
    assert Counter((trial.block, trial.variant) for trial in record.trials).total() == 9
    for variant in ("default", "tuned", "expanded"):
        assert sorted(trial.position for trial in record.trials if trial.variant == variant) == [0, 1, 2]
    assert all(trial.outcome.status == "ok" and trial.recheck for trial in record.trials)
    assert all(trial.search.tried == 7 and trial.search.scope == "timed here" for trial in record.trials)
    assert len(record.blocks) == 9 * 15


def test_ratios_are_taken_within_each_block(compare):
    record = compare({"default": host(40_000), "tuned": host(32_000)})
    (ratios,) = paired_ratios(record).values()
    assert ratios == pytest.approx((0.8, 0.8, 0.8), rel=0.02)


def test_a_search_that_does_not_end_is_censored_with_what_it_had_tried(compare):
    record = compare({"default": host(40_000), "expanded": Truth(fails_to_compile="never")}, deadline=30.0)
    censored = [trial for trial in record.trials if trial.variant == "expanded"]
    assert {trial.outcome.status for trial in censored} == {"censored"}
    assert {trial.search.tried for trial in censored} == {2}
    assert censored[0].search.censored == "no answer to compile within 30 s"
    assert [candidate.name for candidate in censored[0].search.candidates] == ["tile 64", "tile 128"]
    assert censored[0].series is None
    assert paired_ratios(record) == {"expanded": (None, None, None)}
    assert record.outcome.status == "ok"


def test_what_a_search_chose_wrongly_is_rejected_and_not_timed(compare):
    record = compare({"default": host(40_000), "tuned": Truth(forgets=True)})
    tuned = [trial for trial in record.trials if trial.variant == "tuned"]
    assert {(trial.outcome.status, trial.recheck, trial.series) for trial in tuned} == {("rejected", False, None)}


def test_searches_hold_the_host_alone(compare, tmp_path):
    seen = set()

    def look(request):
        if isinstance(request, Compile | Time):
            seen.update((type(request), holder.mode) for holder in Lease(tmp_path / "lease").holders())

    compare({"default": Truth(on_ask=look)}, blocks=1)
    assert seen == {(Compile, "exclusive"), (Time, "exclusive")}


def test_the_record_is_one_of_the_store(compare):
    record = compare({"default": Truth()}, blocks=1)
    assert decode(msgspec.json.encode(record)) == record


def test_a_candidate_that_was_cut_off_is_left_out(tmp_path):
    assert read_candidates(tmp_path) == ()
    note_candidate(tmp_path, Candidate(name="whole", chosen=True))
    with (tmp_path / "candidates.jsonl").open("ab") as file:
        file.write(b'{"name":"cu')
    assert [candidate.name for candidate in read_candidates(tmp_path)] == ["whole"]
