"""What the site says of search effort beside its chart."""

from __future__ import annotations

import msgspec

from tensor_assets.records import Block, EffortRecord, Outcome
from tensor_assets.report.measurements import trial_reasons

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
