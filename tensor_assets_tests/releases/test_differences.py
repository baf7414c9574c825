"""The joint verdict from captures whose difference is known, its sentence, and the page that shows it."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from tensor_worker.artifacts import Capture, Launch, Plan, Stage
from tensor_worker.fingerprint import fingerprint
from tensor_worker.normalize import code_sha256

from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import (
    Admission,
    CaptureRecord,
    CellChange,
    Comparison,
    DecisionRecord,
    Evidence,
    Key,
    Outcome,
    Provenance,
    SpeedChange,
    StageFile,
    TrialRecord,
    Verdict,
)
from tensor_assets.releases.changes import changes_of, counts_of, headline_of, is_alert
from tensor_assets.releases.difference import MOST_LINES, code_change, numbers_change
from tensor_assets.releases.findings import findings_of
from tensor_assets.releases.paired import judged
from tensor_assets.report.comparison import comparison_page

PROVENANCE = Provenance(created="2026-12-01T03:00:00.000+00:00")
EVIDENCE = Evidence(sha256=hashlib.sha256(b"").hexdigest(), bytes=0, media_type="text/plain", name="lock")
KEY = Key(workload="gemm", shape="matrix", compiler="toy", variant="default", target="cpu")


@pytest.fixture
def store(tmp_path) -> EvidenceStore:
    return EvidenceStore(tmp_path / "store")


def capture(store, text="a\nb\nc\n", machine="add\n", kind="kernel", block=(32, 1, 1), admission=None, status="ok"):
    stages, files = [], []
    for name, level, content in (("program", "semantic", text), ("machine", "machine", machine)):
        if content is None:
            continue
        language = "asm" if level == "machine" else "text"
        stages.append(
            Stage(name=name, title=name, level=level, language=language, path=f"{name}.txt", produced_by="print()")
        )
        kept = store.put_bytes(content.encode(), "text/plain", f"{name}.txt")
        files.append(StageFile(stage=name, text=kept, fingerprint=code_sha256(content, language)))
    sha256 = code_sha256(machine, "asm") if machine and kind == "kernel" else ""
    plan = Plan(launches=(Launch(kind=kind, name="k", grid=(1, 1, 1), block=block, code_sha256=sha256),))
    return CaptureRecord(
        key=KEY, outcome=Outcome(status=status), provenance=PROVENANCE, capture=Capture(stages=tuple(stages)),
        stages=tuple(files), plan=plan, fingerprint=fingerprint(plan), admission=admission,
    )  # fmt: skip


def admitted(right: bool, boundary: str = "", mismatches: int = 0) -> Admission:
    verdict = Verdict(
        fixture="exact-0", output="y", kind="exact", passed=right, elements=64, mismatches=0 if right else mismatches
    )
    return Admission(admitted=right, boundary=boundary, verdicts=(verdict,))


def test_equal_captures_are_the_same(store):
    change = code_change(capture(store), capture(store), store)
    assert (change.code, change.launches, {s.change for s in change.stages}) == ("same", (), {"same"})


def test_other_text_above_equal_machine_code_is_no_other_code(store):
    change = code_change(capture(store), capture(store, text="a\nx\nc\n"), store)
    assert change.code == "text"
    program = change.stages[0]
    assert (program.removed, program.added) == (1, 1)
    said = store.read(program.difference).decode().splitlines()
    assert [line for line in said if line[:1] in "+-" and line[:3] not in ("+++", "---")] == ["-b", "+x"]


def test_text_that_differs_in_circumstance_alone_is_the_same_whenever_it_was_hashed(store):
    """Evidence keeps the fingerprint that it got when it was captured."""
    one, other = (capture(store, text=f"load('/tmp/capture-{name}/x.so')\n") for name in ("ab12cd34", "zz98yy76"))
    stale = msgspec.structs.replace(one.stages[0], fingerprint="0" * 64)
    change = code_change(msgspec.structs.replace(one, stages=(stale, *one.stages[1:])), other, store)
    assert (change.code, change.stages[0].change, change.stages[0].difference) == ("same", "same", None)


def test_where_a_compiler_orders_anew_its_stages_are_compared_in_their_other_form(store):
    """Where both have one: an older capture's text is compared with the newer one's text."""

    def with_form(text: str, form: str):
        made = capture(store, text=text)
        kept = store.put_bytes(form.encode(), "text/plain", "program.compared.txt")
        stage = msgspec.structs.replace(made.stages[0], compared=kept, fingerprint=code_sha256(form, "text"))
        return msgspec.structs.replace(made, stages=(stage, *made.stages[1:]))

    one, same, other = with_form("b a", "a b"), with_form("a b", "a b"), with_form("a c", "a c")
    assert code_change(one, same, store).stages[0].change == "same"
    changed = code_change(one, other, store).stages[0]
    assert store.read(changed.difference).decode().splitlines()[3:] == ["-a b", "+a c"]
    assert code_change(capture(store, text="b a"), one, store).stages[0].change == "same"


def test_other_machine_code_and_other_geometry_are_other_code(store):
    assert code_change(capture(store), capture(store, machine="mul\n"), store).code == "changed"
    moved = code_change(capture(store), capture(store, block=(64, 1, 1)), store)
    assert moved.code == "changed"
    assert "block 32×1×1" in moved.launches[0].old
    assert "block 64×1×1" in moved.launches[0].new


def test_the_kernels_of_a_library_are_not_known_to_be_the_same(store):
    library = capture(store, machine=None, kind="library")
    assert code_change(library, library, store).code == "unknown"


def test_a_capture_that_got_nowhere_is_not_known(store):
    crashed = CaptureRecord(key=KEY, outcome=Outcome(status="crashed", reason="SIGSEGV"), provenance=PROVENANCE)
    change = code_change(capture(store), crashed, store)
    assert (change.code, {stage.change for stage in change.stages}) == ("unknown", {"removed"})
    assert numbers_change(capture(store, admission=admitted(True)), crashed) == "not judged"


def test_a_text_too_long_to_compare_is_told_so(store):
    long = "x\n" * (MOST_LINES + 1)
    stage = code_change(capture(store), capture(store, text=long), store).stages[0]
    assert (stage.change, stage.difference) == ("changed", None)
    assert "more than 20,000 lines" in stage.remark


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (admitted(True), admitted(True), "same"),
        (admitted(True), admitted(False, "projection not rounded", 3), "broken"),
        (admitted(False, "projection not rounded", 3), admitted(True), "mended"),
        (admitted(False, "projection not rounded", 3), admitted(False, "product rounded", 3), "changed"),
        (Admission(admitted=None), Admission(admitted=None), "not judged"),
    ],
)
def test_numbers(store, before, after, said):
    assert numbers_change(capture(store, admission=before), capture(store, admission=after)) == said


@pytest.mark.parametrize(
    ("code", "clock", "said"),
    [
        ("changed", "device", "slower"),
        ("same", "device", "noise"),
        ("text", "graph", "noise"),
        ("text", "host", "runtime"),
    ],
)
def test_a_time_that_differs_above_the_same_code_is_no_finding(code, clock, said):
    comparison = Comparison(baseline="toy/default@old", verdict="slower", ratio=1.5, interval=(1.4, 1.6))
    speed = SpeedChange(clock=clock, cache="warm", data="random", verdict="slower", comparison=comparison)
    assert judged(speed, comparison, code).verdict == said
    cell = change(code=code, speed=judged(speed, comparison, code).verdict)
    assert ("slower" in findings_of(trial(cell))) is (said == "slower")
    assert is_alert(decision(), trial(cell)) is (said == "slower")


def change(**fields) -> CellChange:
    about = {"code": "same", "numbers": "same", "speed": "same", "old_status": "ok", "new_status": "ok"}
    places = {"workload": "gemm", "shape": "matrix", "variant": "default", "target": "cpu", "old": "", "new": ""}
    return CellChange(**{**places, **about, **fields})


def trial(*cells: CellChange, **fields) -> TrialRecord:
    about = {"outcome": Outcome(status="ok"), "previous": {"toy": "1.0"}, "candidate": {"toy": "1.1"}}
    return TrialRecord(key=KEY, provenance=PROVENANCE, accepted_lock=EVIDENCE, cells=cells, **{**about, **fields})


def decision(word="accepted", reason="nothing broke") -> DecisionRecord:
    return DecisionRecord(
        key=Key(compiler="toy"), outcome=Outcome(status="ok"), provenance=PROVENANCE, decision=word,
        release={"toy": "1.1"}, lock=EVIDENCE, base="", reason=reason,
    )  # fmt: skip


def test_the_sentence_says_what_is_known_and_nothing_else():
    mixed = trial(
        change(code="changed", speed="slower"), change(code="text"), change(code="unknown", old_status="crashed")
    )
    said = headline_of(decision(), mixed)
    assert said == (
        "toy 1.1 is accepted after 1.0: works in 1 of 3 where the one before does not; other code in 1 of 3; "
        "other text above the same code in 1 of 3; slower in 1 of 3"
    )
    assert counts_of(mixed.cells)["code unknown"] == 1
    held = headline_of(decision("held", "gemm: SIGSEGV"), trial(change(new_status="crashed")))
    assert held == "toy 1.1 is held, 1.0 stays: gemm: SIGSEGV"
    assert changes_of("d", decision("held", "gemm: SIGSEGV"), "t", trial(change(new_status="crashed"))).alert


def test_the_page_of_a_comparison_is_escaped_and_asks_for_nothing(store):
    old, new = capture(store), capture(store, text="a\n</pre><script>alert(1)</script>\nc\n")
    stages = code_change(old, new, store)
    hostile = change(code="text", stages=stages.stages, reason="<img src=x onerror=alert(2)>", new_status="rejected")
    page = comparison_page(PublicView(store), "r" * 64, trial(hostile))
    assert "&lt;/pre&gt;&lt;script&gt;" in page
    assert "<script" not in page
    assert "<img" not in page
    assert "http" not in page.replace("http-equiv", "")
