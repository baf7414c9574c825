"""A toy compiler's versions from a folder of wheels: the first that differs, resumed, around holes, told honestly."""

from __future__ import annotations

import msgspec
import pytest

from tensor_assets.campaign.bisect import QUESTIONS, Asked, bisect
from tensor_assets.campaign.bisect_claim import Answer
from tensor_assets.claims.claim import Case, Check
from tensor_assets.errors import BisectRefused
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.verification import verify
from tensor_assets.records import BisectRecord
from tensor_assets.report.reading import read_snapshot
from tensor_assets_tests.releases.indexes import wheel
from tensor_assets_tests.releases.toy import GOOD, MODULE, PACKAGE, SMALL, checkout

__all__ = ["checkout"]
pytestmark = pytest.mark.compilers
BROKEN = "ROUNDS = False\n"


def asked(high, low="1.0", **more):
    return Asked(
        workload="weight_view",
        compiler="toy",
        variant="default",
        options=SMALL,
        package=PACKAGE,
        low=low,
        high=high,
        **more,
    )


class Counting:
    """A question that counts how often it was asked, and may be interrupted."""

    def __init__(self, by="outcome", stop_after=None):
        self.question, self.count, self.stop_after = QUESTIONS[by], 0, stop_after
        self.subject = self.question.subject

    def state(self, stored):
        if self.count == self.stop_after:
            raise KeyboardInterrupt
        self.count += 1
        return self.question.state(stored)


def test_the_first_broken_version_is_found_around_one_that_cannot_be_installed(checkout):
    checkout.release("1.1")
    wheel(checkout.wheels, "1.2", name=MODULE, module=GOOD, requires=("no-such-package==9",))
    checkout.release("1.3", BROKEN)
    checkout.release("1.4", BROKEN)
    with pytest.raises(KeyboardInterrupt):
        bisect(checkout.opened(), asked("1.4"), Counting(stop_after=2))
    question = Counting()
    found = bisect(checkout.opened(), asked("1.4"), question)
    record = found.stored.record
    # Both ends were known from before; the hole says nothing, and the two others were asked.
    assert question.count == 2
    assert (record.verdict, record.last, record.first) == ("found", "1.1", "1.3")
    assert record.probes["1.2"].outcome.status == "unavailable"
    assert "no-such-package" in record.probes["1.2"].outcome.reason
    assert "1.2" in record.sentence
    assert record.probes["1.3"].state == "rejected (projection not rounded)"
    assert any(line.startswith("+ rejected") for line in found.lines)
    # Asked once more it knows the answer, and no version that was looked into became a cell.
    again = Counting()
    assert bisect(checkout.opened(), asked("1.4"), again).stored.record.first == "1.3"
    assert again.count == 0
    environments = {c.key.environment for c in read_snapshot(PublicView(checkout.space.store)).configurations}
    assert not environments & {probe.environment for probe in record.probes.values() if probe.release[PACKAGE] != "1.0"}
    assert verify(checkout.space.settings.store).exit_code == 0


def test_a_version_that_could_not_be_had_is_tried_again(checkout):
    """What an index does not give today, because it is out of reach, it may give tomorrow."""
    wheel(checkout.wheels, "1.1", name=MODULE, module=GOOD + BROKEN, requires=("late-package==9",))
    checkout.release("1.2", BROKEN)
    first = bisect(checkout.opened(), asked("1.2"), Counting()).stored.record
    assert (first.first, first.probes["1.1"].outcome.status) == ("1.2", "unavailable")
    wheel(checkout.wheels, "9", name="late_package", module="")
    again = bisect(checkout.opened(), asked("1.2"), Counting()).stored.record
    assert (again.first, again.probes["1.1"].outcome.status) == ("1.1", "rejected")


def test_an_adapter_that_does_not_speak_a_version_says_nothing_of_it(checkout):
    checkout.release("1.1", "del on_compile\n")
    checkout.release("1.2", "def on_compile():\n    raise RuntimeError('inside the compiler')\n")
    record = bisect(checkout.space, asked("1.2"), QUESTIONS["outcome"]).stored.record
    silent = record.probes["1.1"]
    assert (silent.state, silent.outcome.status) == ("", "crashed")
    assert silent.outcome.reason.startswith("the adapter does not speak this version: ")
    assert record.probes["1.2"].state == "crashed"
    assert (record.last, record.first) == ("1.0", "1.2")


def test_code_can_differ_where_numbers_do_not_and_more_than_once(checkout):
    checkout.release("1.1", 'MACHINE = "multiply\\n"')
    checkout.release("1.2")
    halves = bisect(checkout.space, asked("1.2"), QUESTIONS["code"]).stored.record
    assert halves.verdict == "same"
    assert "1 version in between was not tried" in halves.sentence
    record = bisect(checkout.space, asked("1.2", every=True), QUESTIONS["code"]).stored.record
    assert record.verdict == "several"
    assert "1.0 to 1.1, 1.1 to 1.2" in record.sentence


def test_a_claims_question_is_asked_of_every_version(checkout):
    checkout.release("1.1", 'MACHINE = "multiply\\n"')
    checkout.release("1.2", BROKEN)
    check = Check(query="admission.admitted", operator="equals", expected=True)
    case = Case(check, "weight_view", "matrix_inspect", "toy", "default", ("*",), "")
    answer = Answer("toy-is-right", (case,), PublicView(checkout.space.store))
    record = bisect(checkout.space, asked("1.2"), answer).stored.record
    assert record.subject == "claim toy-is-right"
    assert (record.last, record.first) == ("1.1", "1.2")
    assert [record.probes[version].state for version in ("1.0", "1.1", "1.2")] == ["holds", "holds", "differs"]
    # Another value with which the claim holds is no difference.
    other = Check(query="version", operator="not_equals", expected="9.9")
    young = Answer("toy-is-young", (msgspec.structs.replace(case, check=other),), answer.public)
    assert bisect(checkout.space, asked("1.2"), young).stored.record.verdict == "same"


def test_what_has_no_versions_is_refused(checkout):
    with pytest.raises(BisectRefused, match="has only tensor-assets-toy"):
        bisect(checkout.space, asked("1.0"), QUESTIONS["outcome"])
    with pytest.raises(BisectRefused, match="is not made of 'numpy'"):
        bisect(checkout.space, Asked(**{**_fields(asked("1.0")), "package": "numpy"}), QUESTIONS["outcome"])
    assert not list(checkout.space.store.records(BisectRecord))


def _fields(one):
    return {name: getattr(one, name) for name in one.__struct_fields__}
