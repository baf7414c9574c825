"""A claim that the records contradict differs, whatever else is true; one that they cannot answer is not measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensor_worker.artifacts import Search

from tensor_assets.claims.operators import unsaid
from tensor_assets.records import Outcome, Trial
from tensor_assets.sessions.series import summarize_samples
from tensor_assets_tests.claims.recorded import claim, empty, judged, put, put_effort, put_trials


def test_a_claim_that_the_record_bears_out_holds_and_names_it(tmp_path: Path) -> None:
    store = empty(tmp_path)
    record = put(store)
    found = judged(store, claim())
    assert (found.verdict, found.why, found.since) == ("holds", "", "")
    assert [observation.subject.records for observation in found.seen] == [(record,)]


def test_a_planted_wrong_claim_differs_with_what_was_seen(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store)
    found = judged(store, claim(expected=[[16, 8, 1]]))
    assert found.verdict == "differs"
    assert found.why == "bias × tinygrad at matrix: expected [[16, 8, 1]], seen [[8, 16, 1]] on NVIDIA H200"


def test_a_claim_differs_since_the_first_version_of_those_in_a_row(tmp_path: Path) -> None:
    store = empty(tmp_path)
    for version, grid in (("0.9.0", 4), ("0.13.0", 8), ("0.14.0", 8), ("0.15.0", 4), ("0.16.0", 4), ("0.16.1", 2)):
        put(store, version=version, grid=(grid, 16, 1))
    found = judged(store, claim())
    assert (found.verdict, found.since) == ("differs", "since 0.15.0, 0.14.0 held")
    assert found.seen[0].subject.version == "0.16.1"


def test_an_older_version_that_differed_does_not_count(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, version="0.14.0", grid=(1, 1, 1))
    put(store, version="0.15.0")
    assert judged(store, claim()).verdict == "holds"


def test_a_newer_release_makes_it_false_only_where_the_author_left_the_range_open(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, version="0.14.0")
    put(store, version="0.15.0", grid=(1, 1, 1))
    assert judged(store, claim(versions=">=0.14")).verdict == "differs"
    assert judged(store, claim(versions=">=0.14,<0.15")).verdict == "holds"


def test_another_device_makes_no_claim_about_an_h100_false_but_is_shown_as_nearest(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, target="cpu", grid=(2, 2, 2))
    put(store, target="NVIDIA H200", grid=(1, 1, 1))
    found = judged(store, claim(device="NVIDIA H100*"))
    assert found.verdict == "not measured"
    assert found.why == "no capture of bias × tinygrad at matrix on NVIDIA H100"
    (nearest,) = found.nearest
    assert (nearest.subject.device, nearest.subject.version, nearest.value) == ("NVIDIA H200", "0.14.0", [[1, 1, 1]])


def test_on_every_device_in_scope_it_must_hold(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, target="sm_90")
    put(store, target="NVIDIA H200", grid=(1, 1, 1))
    found = judged(store, claim())
    assert found.verdict == "differs"
    assert "NVIDIA H200" in found.why


def test_a_newer_version_elsewhere_hides_no_difference_that_stands_on_a_device(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, target="NVIDIA H200", version="0.13.0")
    differing = put(store, target="NVIDIA H200", version="0.14.0", grid=(1, 1, 1))
    holding = put(store, target="sm_90", version="0.15.0")
    found = judged(store, claim())
    assert (found.verdict, found.since) == ("differs", "since 0.14.0, 0.13.0 held")
    assert found.why == (
        "bias × tinygrad at matrix: expected [[8, 16, 1]], seen [[1, 1, 1]] on NVIDIA H200"
        " (0.14.0, the newest that answers there)"
    )
    (asked,) = found.cases
    assert [observation.subject.records[0] for observation in asked.seen] == [differing, holding]
    assert [observation.subject.records[0] for observation in found.seen] == [differing]
    put(store, target="NVIDIA H200", version="0.15.0")
    assert judged(store, claim()).verdict == "holds"


def test_what_an_older_version_showed_on_another_device_still_bears_a_claim_out(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, target="NVIDIA H200", version="0.14.0")
    put(store, target="sm_90", version="0.15.0", grid=(1, 1, 1))
    found = judged(store, claim())
    assert (found.verdict, found.since) == ("differs", "in every version seen, the first 0.15.0")
    (asked,) = found.cases
    assert [(o.subject.device, o.passed) for o in asked.seen] == [("NVIDIA H200", True), ("sm_90", False)]


def test_a_version_that_crashes_leaves_the_last_that_answered(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, version="0.14.0")
    put(store, version="0.15.0", status="crashed")
    found = judged(store, claim())
    assert (found.verdict, found.seen[0].subject.version) == ("holds", "0.14.0")


def test_a_crash_of_the_same_version_with_another_companion_package_hides_nothing(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, version="0.14.0")
    put(store, version="0.14.0", status="crashed", created="2026-12-01T00:00:00.000+00:00", environment="ffi")
    assert judged(store, claim()).verdict == "holds"


def test_where_only_a_crash_is_in_scope_its_reason_is_the_reason(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, status="crashed")
    found = judged(store, claim())
    assert found.verdict == "not measured"
    assert found.why == "bias × tinygrad at matrix: tinygrad 0.14.0 was crashed: SIGSEGV in tensorize"


def test_what_the_record_does_not_say_is_not_measured(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, registers=None)
    asked = claim(query="kernels[].[grid, registers]", expected=[[[8, 16, 1], 92]])
    assert judged(store, asked).why == "bias × tinygrad at matrix: the record does not say"
    assert judged(store, claim(query="kernels[].[grid, registers]", expected=[[[1, 1, 1], 92]])).verdict == "differs"


def test_an_empty_list_is_an_answer(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store)
    assert judged(store, claim(query="kernels[?name=='other'].grid")).verdict == "differs"


def test_a_build_with_a_patch_answers_only_for_claims_that_name_it(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, patch="ab" * 32)
    assert judged(store, claim()).verdict == "not measured"
    assert judged(store, claim(variant="default-patch-*")).verdict == "holds"


def test_instructions_are_counted_in_the_kernels_own_machine_code(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store)
    asked = claim(query="kernels[].[family, matrix_opcodes]", expected=[["HMMA", {"HMMA.16816.F32": 2}]])
    assert judged(store, asked).verdict == "holds"


def test_a_list_means_in_each_of_them(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, workload="bias")
    put(store, workload="relu", grid=(1, 1, 1))
    assert judged(store, claim(workload=("bias", "relu"))).verdict == "differs"
    missing = judged(store, claim(workload=("bias", "gemm")))
    assert missing.verdict == "not measured"
    assert missing.why.endswith("; 1 of 2 hold")


@pytest.mark.parametrize("seen", [None, [None], [[8, None]], [[8, 16], None]])
def test_open_answers(seen: object) -> None:
    assert unsaid(seen, [[8, 16]] if seen != [[8, 16], None] else [[8, 16], 3])


plain = st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3))


@given(plain, plain)
def test_an_answer_without_null_is_never_open(seen: object, expected: object) -> None:
    if "None" not in repr(seen):
        assert not unsaid(seen, expected)


def test_the_nearest_is_of_the_default_variant_and_of_a_device_of_the_kind(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, variant="addmm", grid=(1, 1, 1))
    put(store, target="cpu", grid=(2, 2, 2))
    put(store, target="sm_90", grid=(3, 3, 3))
    put(store, target="NVIDIA H200", grid=(4, 4, 4))
    (nearest,) = judged(store, claim(variant="tuned", device="NVIDIA H100*")).nearest
    assert nearest.value == [[4, 4, 4]]


def test_half_an_answer_is_the_nearest_only_where_no_answer_is_whole(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, target="NVIDIA H200", registers=None, grid=(3, 3, 3))
    asked = claim(device="NVIDIA H100*", query="kernels[].[grid, registers]", expected=[[[8, 16, 1], 92]])
    (half,) = judged(store, asked).nearest
    assert half.value == [[[3, 3, 3], None]]
    put(store, target="sm_90", grid=(4, 4, 4))
    (whole,) = judged(store, asked).nearest
    assert whole.value == [[[4, 4, 4], 92]]


def test_what_decides_a_claim_that_differs_is_what_differs(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, target="NVIDIA H100 80GB HBM3")
    wrong = put(store, target="NVIDIA H200", grid=(1, 1, 1))
    found = judged(store, claim())
    assert found.verdict == "differs"
    assert [observation.subject.records for observation in found.seen] == [(wrong,)]


@pytest.mark.parametrize("query", ["intermediates", "storage_bytes", "buffers[?role=='intermediate']"])
def test_a_plan_that_does_not_report_memory_bears_out_no_claim_of_storing_nothing(tmp_path: Path, query: str) -> None:
    store = empty(tmp_path)
    put(store)
    expected: object = 0 if query == "storage_bytes" else []
    assert judged(store, claim(query=query, expected=expected)).why.endswith("the record does not say")


@pytest.mark.parametrize(
    ("query", "expected"),
    [("kernels[].keys(matrix_opcodes)[]", []), ("kernels[].[family]", [[""]]), ("kernels[].[matrix_opcodes]", [[{}]])],
)
def test_code_that_is_not_at_hand_is_no_code_without_matrix_instructions(
    tmp_path: Path, query: str, expected: object
) -> None:
    store = empty(tmp_path)
    put(store, sass="\t.target\tsm_90\n.text.another_kernel:\n        /*0000*/                   EXIT ;\n")
    assert judged(store, claim(query=query, expected=expected)).verdict == "not measured"


def test_trials_of_two_allocations_are_no_common_sample(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store)
    for day, method, uuid in ((1, "a", "GPU-1"), (2, "b", "GPU-2")):
        put_effort(store, method, uuid, f"2026-11-0{day}T00:00:00.000+00:00", trials=day)
    asked = claim(query="length(effort)", expected=2)
    assert judged(store, asked).verdict == "holds"


def test_every_level_of_a_search_is_seen_from_the_cell_that_it_was_run_for(tmp_path: Path) -> None:
    """A searched variant need not have been captured; its trials are held against the default of their own block."""
    store = empty(tmp_path)
    capture = put(store)
    wrong = Outcome(status="rejected", reason="y on exact-0: 1 of 4 elements differ")
    times = {("default", 0): 40e3, ("tuned", 0): 30e3, ("default", 1): 20e3, ("tuned", 1): None}
    effort = put_trials(
        store,
        tuple(
            Trial(
                block=block,
                position=0,
                variant=variant,
                outcome=Outcome(status="ok") if median else wrong,
                series=summarize_samples(0, 0, [median] * 5) if median else None,
            )
            for (variant, block), median in times.items()
        ),
    )
    for query, expected in {
        "levels.tuned[].outcome": ["ok", "rejected"],
        "levels.tuned[].of_default": [0.75],
        "levels.default[].of_default": [],
        "length(effort)": 2,
        "effort[].median_us": [40, 20],
    }.items():
        found = judged(store, claim(query=query, expected=expected))
        assert found.verdict == "holds", query
        assert [observation.record for observation in found.seen] == [effort], "the proof is the record that answered"
    of_both = judged(store, claim(query="[length(effort), length(kernels)]", expected=[2, 1]))
    assert [observation.record for observation in of_both.seen] == [capture]


def test_a_stopped_search_tells_a_claim_what_it_had_not_timed(tmp_path: Path) -> None:
    """Known though nothing was timed; and of a search that did not tell, null, which is not 0."""
    store = empty(tmp_path)
    put(store)
    stopped = Outcome(status="censored", reason="no answer to compile within 60 s")
    searches = (
        Search(scope="choices", tried=0, untimed=1401, seconds=60.0, censored="deadline"),
        Search(scope="choices", tried=9, seconds=60.0, censored="deadline"),
        None,
    )
    trials = tuple(
        Trial(block=block, position=0, variant="expanded", outcome=stopped, search=search)
        for block, search in enumerate(searches)
    )
    put_trials(store, trials)
    for query, expected, verdict in (
        ("levels.expanded[0].[outcome, tried, untimed]", ["censored", 0, 1401], "holds"),
        ("levels.expanded[0].untimed", 0, "differs"),
        ("levels.expanded[1].tried", 9, "holds"),
        ("levels.expanded[1].untimed", 0, "not measured"),
        ("levels.expanded[2].tried", 0, "not measured"),
    ):
        assert judged(store, claim(query=query, expected=expected)).verdict == verdict, query


def test_a_captured_search_tells_a_claim_what_it_had_not_timed(tmp_path: Path) -> None:
    store = empty(tmp_path)
    put(store, search=Search(scope="choices", tried=2, untimed=7, seconds=1.0))
    assert judged(store, claim(query="[search.tried, search.untimed]", expected=[2, 7])).verdict == "holds"
