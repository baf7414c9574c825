import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest
import tensor_worker
from tensor_worker.artifacts import Candidate, Capture, Search
from tensor_worker.candidates import NOT_TIMED, note_candidate, note_generated, read_candidates, read_untimed
from tensor_worker.messages import Compile, GetStages, Stages, Time

from tensor_assets.evidence.schema import decode
from tensor_assets.records import Outcome
from tensor_assets.sessions.effort import compare_effort, paired_ratios, quickest
from tensor_assets.sessions.lease import Lease
from tensor_assets.workers.failure import WorkerFailed
from tensor_assets_tests.sessions import simulated as simulation
from tensor_assets_tests.sessions.simulated import Simulated, SimulatedGpu, Truth

# A search that generates 1,401 candidates, times as many of them as it is told, and is killed.
KILLED = """
import os, signal, sys
from pathlib import Path
from tensor_worker.artifacts import Candidate
from tensor_worker.candidates import note_candidate, note_generated

dump, timed = Path(sys.argv[1]), int(sys.argv[2])
note_generated(dump, [Candidate(name=f"tile {number}", chosen=False) for number in range(1401)])
for number in range(timed):
    note_candidate(dump, Candidate(name=f"tile {number}", chosen=False, measured_ns=5e3))
os.kill(os.getpid(), signal.SIGKILL)
"""


class Searching(simulation.SimulatedWorker):
    """A worker that tells its search. ``never`` ends one, after two candidates; a number kills it after so many."""

    def ask(self, request, deadline=None):
        if isinstance(request, GetStages):
            return Stages(capture=Capture(stages=(), search=Search(scope="timed here", tried=7, seconds=1.5)))
        if isinstance(request, Compile) and self.truth.fails_to_compile == "never":
            self.truth.on_ask(request)
            for name in ("tile 64", "tile 128"):
                note_candidate(self.folder / "search-dump", Candidate(name=name, chosen=False, measured_ns=5e3))
            raise WorkerFailed(Outcome(status="censored", reason=f"no answer to compile within {deadline:g} s"))
        if isinstance(request, Compile) and self.truth.fails_to_compile.isdigit():
            command = [sys.executable, "-c", KILLED, str(self.folder / "search-dump"), self.truth.fails_to_compile]
            ended = subprocess.run(command, env={"PYTHONPATH": str(Path(tensor_worker.__file__).parents[1])})
            assert ended.returncode == -9
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
    assert {(trial.search.tried, trial.search.untimed) for trial in censored} == {(2, 0)}
    assert censored[0].search.censored == "no answer to compile within 30 s"
    assert [candidate.name for candidate in censored[0].search.candidates] == ["tile 64", "tile 128"]
    assert censored[0].series is None
    assert paired_ratios(record) == {"expanded": (None, None, None)}
    assert record.outcome.status == "ok"


@pytest.mark.parametrize("timed", [0, 3])
def test_what_a_killed_search_would_have_tried_next_is_kept_and_told_apart(compare, timed):
    record = compare({"expanded": Truth(fails_to_compile=str(timed))}, blocks=1)
    (search,) = (trial.search for trial in record.trials)
    assert (search.tried, search.untimed, len(search.candidates)) == (timed, 1401 - timed, 1401)
    untimed = search.candidates[timed:]
    assert [candidate.name for candidate in untimed] == [f"tile {number}" for number in range(timed, 1401)]
    assert {(candidate.measured_ns, candidate.refused) for candidate in untimed} == {(None, NOT_TIMED)}
    assert {(candidate.measured_ns, candidate.refused) for candidate in search.candidates[:timed]} <= {(5e3, "")}
    assert decode(msgspec.json.encode(record)) == record


def test_what_a_search_chose_wrongly_is_rejected_and_not_timed(compare):
    record = compare({"default": host(40_000), "tuned": Truth(forgets=True)})
    tuned = [trial for trial in record.trials if trial.variant == "tuned"]
    assert {(trial.outcome.status, trial.recheck, trial.series) for trial in tuned} == {("rejected", False, None)}
    assert all(trial.outcome.reason.startswith("wrong before any timing: y on ") for trial in tuned)


def test_what_turns_wrong_while_it_is_timed_is_rejected_as_wrong_after_timing(compare):
    turning = Truth()
    turning.on_ask = lambda request: setattr(turning, "forgets", turning.forgets or isinstance(request, Time))
    (trial,) = compare({"tuned": turning}, blocks=1).trials
    assert (trial.outcome.status, trial.recheck, trial.series) == ("rejected", False, None)
    assert trial.outcome.reason.startswith("wrong after timing: y on ")


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
    note_candidate(tmp_path, Candidate(name="whole", chosen=False, measured_ns=5e3))
    with (tmp_path / "candidates.jsonl").open("ab") as file:
        file.write(b'{"name":"cu')
    assert [candidate.name for candidate in read_candidates(tmp_path)] == ["whole"]


@pytest.mark.parametrize("early", [{"chosen": True}, {"chosen": False, "measured_ns": 5e3, "refused": "slower"}])
def test_a_search_that_still_runs_says_of_no_candidate_how_it_fared(tmp_path, early):
    """Stopped, Inductor's left its quickest of 737 as slower, and had nothing to be slower than."""
    with pytest.raises(ValueError, match="tile 64: the search still runs"):
        note_candidate(tmp_path, Candidate(name="tile 64", **early))
    assert read_candidates(tmp_path) == ()


def test_the_quickest_candidate_is_the_least_time_chosen_or_not():
    times = (None, 7e3, 5e3, 6e3)
    candidates = tuple(Candidate(name=str(n), chosen=n == 3, measured_ns=ns) for n, ns in enumerate(times))
    assert quickest(Search(scope="choices", tried=4, seconds=1.0, candidates=candidates)) == 2
    assert quickest(Search(scope="choices", tried=1, seconds=1.0, candidates=candidates[:1])) is None
    assert quickest(None) is None


def test_candidates_of_one_name_are_told_apart_by_how_many_were_generated(tmp_path):
    """Inductor calls the library's implementation of every contraction by one name."""
    assert read_untimed(tmp_path) == ()
    note_generated(tmp_path, [Candidate(name="mm", chosen=False), Candidate(name="triton_mm_0", chosen=False)])
    note_generated(tmp_path, [Candidate(name="mm", chosen=False), Candidate(name="triton_mm_1", chosen=False)])
    note_candidate(tmp_path, Candidate(name="mm", chosen=False, measured_ns=5e3))
    note_candidate(tmp_path, Candidate(name="triton_mm_0", chosen=False, refused="out of resource"))
    assert [candidate.name for candidate in read_untimed(tmp_path)] == ["mm", "triton_mm_1"]
