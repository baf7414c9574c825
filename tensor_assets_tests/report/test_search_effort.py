"""What the site says of search effort beside its chart."""

from __future__ import annotations

import re

import msgspec
from tensor_worker.artifacts import Search

from tensor_assets.records import Block, EffortRecord, Outcome
from tensor_assets.report.effort_chart import search_effort
from tensor_assets.report.faces import load_faces
from tensor_assets.report.measurements import trial_reasons
from tensor_assets.settings import ROOT

FACES = load_faces(ROOT / "adapters")
WRONG = "wrong after timing: y on exact-0: 3 of 9 elements differ"


def test_a_trial_that_no_block_timed_was_wrong_before_timing(built):
    """Recorded on an H200: the reason said "after" of both judgements."""
    ((_, record),) = built.store.records(EffortRecord)
    wrong = Outcome(status="rejected", reason=WRONG)
    first, second, *rest = (msgspec.structs.replace(trial, outcome=wrong) for trial in record.trials)
    timed = Block(
        round=0, position=0, process=1, clock="host", cache="warm", data="random", elapsed_ns=1, invocations=1
    )
    told = trial_reasons(msgspec.structs.replace(record, trials=(first, second, *rest), blocks=(timed,)))
    assert told[:2] == ["wrong before any timing: y on exact-0: 3 of 9 elements differ", WRONG]


def test_the_record_is_listed_with_the_evidence(built):
    ((record_id, _),) = built.store.records(EffortRecord)
    page = (built.site / "evidence" / "weight-view.html").read_text()
    assert f"{record_id}.json" in page
    assert "weight_view × tinygrad: search effort" in page


def _stopped(record, *told):
    """The record with its searches stopped before they timed anything; each block told both counts or nothing."""
    stopped = Outcome(status="censored", reason="no answer to compile within 60 s")
    return msgspec.structs.replace(
        record,
        trials=tuple(
            trial
            if trial.variant == "default"
            else msgspec.structs.replace(
                trial,
                outcome=stopped,
                series=None,
                compile_seconds=None,
                search=Search(scope="choices", tried=told[trial.block][0], untimed=told[trial.block][1], seconds=60.0)
                if told[trial.block]
                else None,
            )
            for trial in record.trials
        ),
    )


def _drawn(record):
    return search_effort(record, "x", FACES["tinygrad"])


def test_a_search_that_was_stopped_before_it_timed_anything_says_what_waited(built):
    ((_, record),) = built.store.records(EffortRecord)
    chart = _drawn(_stopped(record, (0, 1401), (0, 1401)))
    assert chart.title == "x: no search has a time beside its block's default"
    assert "kept apart: 4 stopped at the deadline (0 tried and 1,401 not timed each)" in chart.subtitle
    assert "4 stopped at the deadline" in chart.alternative


def test_what_was_not_told_is_not_counted_as_nothing(built):
    ((_, record),) = built.store.records(EffortRecord)
    untold = _drawn(_stopped(record, None, None))
    assert untold.subtitle.endswith("kept apart: 4 stopped at the deadline")
    half = _drawn(_stopped(record, (2, None), (5, 1396)))
    assert "4 stopped at the deadline (2–5 tried and 1,396 not timed each)" in half.subtitle
    some = _drawn(_stopped(record, (2, 7), None))
    assert "4 stopped at the deadline (2 tried and 7 not timed in the 2 that told)" in some.subtitle


def test_an_ended_search_beside_a_stopped_one_is_the_one_that_is_spoken_of(built):
    ((_, record),) = built.store.records(EffortRecord)
    assert {trial.outcome.status for trial in record.trials if trial.variant == "expanded"} == {"censored"}
    even = tuple(
        msgspec.structs.replace(trial, series=msgspec.structs.replace(trial.series, median_ns=30e3))
        if trial.series
        else trial
        for trial in record.trials
    )
    chart = _drawn(msgspec.structs.replace(record, trials=even))
    assert chart.title == "x: no search that ended made a call quicker in every block"


def test_the_pointer_tells_of_a_point_what_was_tried_and_what_was_not_told(built):
    ((_, record),) = built.store.records(EffortRecord)
    points = {row["variant"]: row for row in _drawn(record).spec["datasets"]["rows"]}
    assert (points["tuned"]["tried"], points["tuned"]["not timed"]) == ("226", "0")
    bare = tuple(msgspec.structs.replace(trial, search=None) for trial in record.trials)
    points = _drawn(msgspec.structs.replace(record, trials=bare)).spec["datasets"]["rows"]
    assert {(row["tried"], row["not timed"]) for row in points} == {("no search", "not told")}


def test_the_table_has_a_column_for_each_count(built):
    page = (built.site / "measurements.html").read_text()
    table = re.search(r'<table class="data"><thead><tr><th>of</th>.*?</table>', page, re.DOTALL)[0]
    heads = re.findall(r"<th(?: [^>]*)?>([^<]*)", table)
    cells = [re.findall(r"<td.*?</td>", row, re.DOTALL) for row in re.findall(r"<tr><td.*?</tr>", table, re.DOTALL)]
    plain = [[re.sub(r"<[^>]*>", "", cell).strip() for cell in row] for row in cells]
    said = {(row[1], *(row[heads.index(head)] for head in ("tried", "not timed", "quickest"))) for row in plain}
    assert said == {("default", "1", "0", "16.5"), ("tuned", "226", "0", "16.5"), ("expanded", "1,804", "412", "16.5")}
    assert "/trials/1/search/candidates/1/measured_ns" in table
