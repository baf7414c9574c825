"""A cell's page: what tells of a kernel's machine code, a timeline's columns, a search that timed nothing."""

from __future__ import annotations

import html
import re

import msgspec
import pytest
from tensor_worker.artifacts import INFERRED, Candidate, Compared, Decision, Search

from tensor_assets.evidence.public import PublicView
from tensor_assets.report.cell_page import MOST_OPCODES, _missing, lower_cold, telling_opcodes
from tensor_assets.report.faces import load_faces
from tensor_assets.report.matrix import configuration_page
from tensor_assets.report.pages import PageWriter
from tensor_assets.report.stages import stage_id
from tensor_assets.settings import ROOT
from tensor_assets_tests.report import campaign

# The fifteen most frequent of the 79 opcodes of cuBLAS' FP16 product on an H200, and one more.
NVJET = {
    "FFMA": 128, "UIADD3": 103, "UMOV": 97, "ULDC": 72, "UIMAD.U32": 53, "BRA": 52, "LOP3.LUT": 36,
    "F2FP.F16.F32.PACK_AB": 32, "MOV": 31, "BRA.U": 27, "UISETP.EQ.AND": 26, "UPRMT": 23, "USHF.R.U32": 22,
    "UIMAD.WIDE.U32": 18, "HGMMA.64x64x16.F32": 16, "SYNCS": 15,
}  # fmt: skip


def test_a_matrix_instruction_comes_first_however_rare_it_is():
    shown = telling_opcodes(NVJET)
    assert shown[:2] == [("HGMMA.64x64x16.F32", 16), ("FFMA", 128)]
    assert len(shown) == MOST_OPCODES


def test_every_matrix_instruction_is_shown_and_a_packed_multiply_add_is_none():
    many = {f"HMMA.{number}": 1 for number in range(MOST_OPCODES + 3)}
    assert {opcode for opcode, _ in telling_opcodes(NVJET | many)} == {*many, "HGMMA.64x64x16.F32"}
    assert telling_opcodes({"HFMA2.MMA": 1, "IMAD": 9}) == [("IMAD", 9), ("HFMA2.MMA", 1)]


@pytest.mark.parametrize(
    ("part", "why", "said"),
    [
        ("nsight systems", "Nsight Systems (nsys) is not installed", "Nsight Systems (nsys) is not installed."),
        ("counters", "Nsight Compute (ncu) is not installed", "No counters: Nsight Compute (ncu) is not installed."),
        ("activities", "CUPTI dropped 3 records", "Not all activities: CUPTI dropped 3 records."),
    ],
)
def test_what_is_missing_is_named_once(part, why, said):
    assert _missing(part, why) == said


class Cells:
    """Pages of single cells, written one by one."""

    def __init__(self, folder):
        self.store = campaign.fill(str(folder / "store"), ("weight_view",))
        self.folder = folder / "pages"
        self.writer = PageWriter(PublicView(self.store), self.folder, load_faces(ROOT / "adapters"), None)

    def traced(self, compiler):
        return next(c for c in self.writer.snapshot.configurations if c.key.compiler == compiler and c.profile)

    def profiled(self, configuration, **changes):
        """The configuration with another profile, which is in the store: a page quotes numbers from there."""
        profile = msgspec.structs.replace(configuration.profile, **changes)
        return msgspec.structs.replace(configuration, profile=profile, profile_id=self.store.put(profile))

    def section(self, configuration, name):
        self.writer._cell(configuration)
        page = configuration_page(self.writer.snapshot, configuration)
        text = (self.folder / ".fragments" / page).read_text(encoding="utf-8")
        return html.unescape(re.search(f'<section [^>]*id="{name}"[^>]*>.*?</section>', text, re.DOTALL)[0])


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    return Cells(tmp_path_factory.mktemp("cells"))


def words(markup):
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", "", markup)).replace("\u202f", " ")


def test_opcodes_that_are_not_shown_are_counted(cells):
    many = cells.profiled(cells.traced("eager"), opcodes={"nvjet": NVJET}, loaded=("nvjet",))
    said = words(cells.section(many, "inside"))
    assert "HGMMA.64x64x16.F32 16 FFMA 128" in said
    assert f"and {len(NVJET) - MOST_OPCODES} more" in said
    few = cells.profiled(many, opcodes={"nvjet": {"HGMMA.64x64x16.F32": 16, "BRA": 2}})
    assert "more" not in words(cells.section(few, "inside")).partition("machine code")[2].partition("Static")[0]


def test_a_memsets_bytes_are_no_threads_of_a_block(cells):
    head, memset = re.findall(r"<tr>.*?</tr>", cells.section(cells.traced("max"), "inside"), re.DOTALL)[:2]
    columns = [words(cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", head)]
    found = dict(zip(columns, [words(cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", memset)], strict=True))
    assert (found["kind"], found["blockthreads"]) == ("memset 32.0 MiB", "–")


def test_a_stage_that_is_compared_in_another_form_says_so(cells):
    traced = cells.traced("max")
    inner = traced.capture.capture
    sorted_anew = Compared(path="stages/a.compared.mlir", reason="its table is sorted")
    stages = (msgspec.structs.replace(inner.stages[0], compared=sorted_anew), *inner.stages[1:])
    capture = msgspec.structs.replace(traced.capture, capture=msgspec.structs.replace(inner, stages=stages))
    page = cells.section(msgspec.structs.replace(traced, capture=capture), f"stage-{stage_id(traced, stages[0].name)}")
    assert "Beside another capture's it is compared in another form: its table is sorted" in words(page)


def test_gaps_of_the_tracer_have_no_column(cells):
    plain = cells.traced("max")
    assert not plain.stretched
    assert "before it" in cells.section(plain, "inside")
    far = cells.profiled(plain, span_ns=plain.untraced_ns * 10)
    table = re.search("<table.*?</table>", cells.section(far, "inside"), re.DOTALL)[0]
    assert "before it" not in table
    assert len({len(re.findall(r"<t[dh]\b", row)) for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)}) == 1


def searched(configuration, search):
    inner = msgspec.structs.replace(configuration.capture.capture, search=search)
    return msgspec.structs.replace(configuration, capture=msgspec.structs.replace(configuration.capture, capture=inner))


def test_a_choice_that_timed_nothing_is_no_search_and_has_no_times(cells):
    other = Candidate(name="matmul_kernel_naive", chosen=False, refused="this is its other branch")
    scope = "implementations compiled into one routine; chosen by its host code, none is timed"
    untimed = searched(cells.traced("max"), Search(scope=scope, tried=0, seconds=0.0, candidates=(other,)))
    said = words(cells.section(untimed, "search-effort"))
    assert f"What it chose from Nothing was tried. Listed are {scope}." in said
    for absent in ("0 tried", "0.0 s", "own times", "measured", "predicted", "searched"):
        assert absent not in said
    assert "matmul_kernel_naivethis is its other branch" in said


def test_a_search_that_timed_says_how_many_and_whose_times(cells):
    timed = Candidate(name="mm", chosen=True, measured_ns=4784.0)
    found = searched(cells.traced("max"), Search(scope="choices", tried=22, seconds=31.0, candidates=(timed,)))
    said = words(cells.section(found, "search-effort"))
    assert "What it searched 22 tried in 31.0 s (choices)." in said
    assert "The compiler's own times" in said
    assert "measured" in said
    assert "predicted" not in said
    plans = Search(scope="plans", tried=0, seconds=600.0, censored="deadline")
    stopped = searched(cells.traced("max"), plans)
    assert "0 tried in 600.0 s (plans); stopped early: deadline." in words(cells.section(stopped, "search-effort"))
    for untimed, told in ((1401, "1,401 more generated and not timed"), (0, "0 more generated and not timed")):
        waiting = searched(cells.traced("max"), msgspec.structs.replace(plans, untimed=untimed))
        assert f"0 tried, {told}, in 600.0 s (plans); stopped early" in words(cells.section(waiting, "search-effort"))
    ended = searched(cells.traced("max"), Search(scope="choices", tried=22, seconds=31.0, untimed=0))
    assert "22 tried in 31.0 s (choices)." in words(cells.section(ended, "search-effort"))


def test_memory_is_shown_by_activity_and_says_so_where_a_routine_told_it(cells):
    """Recorded: y from the first activity on. The third one computes it."""
    said = words(cells.section(cells.traced("max"), "what-ran"))
    assert "youtput2,097,1523–" in said
    told = "tells of y by a whole routine, which is several activities; the table shows the activities that compute"
    assert f"{told} with it." in said


def test_a_median_that_is_lower_cold_is_pointed_at(cells):
    timings = cells.traced("max").timings
    assert lower_cold(timings) == []
    warm = next(t for t in timings if (t.clock, t.cache, t.data) == ("device", "warm", "random"))
    quicker = [msgspec.structs.replace(t, median_ns=warm.median_ns * 0.9) if t.cache == "cold" else t for t in timings]
    assert lower_cold(quicker) == ["device"]
    assert "is the lower one" not in words(cells.section(cells.traced("max"), "fast"))
    found = cells.traced("max")
    record = msgspec.structs.replace(found.benchmark, timings=tuple(quicker))
    told = msgspec.structs.replace(found, benchmark=record, benchmark_id=cells.store.put(record))
    told = words(cells.section(told, "fast"))
    assert "By the device clock the median with a flushed cache is the lower one" in told


def test_decisions_number_activities_as_the_rest_of_the_page_does(cells):
    """As adapters told it until they counted from 1."""
    configurations = cells.writer.snapshot.configurations
    traced = next(c for c in configurations if c.profile and c.capture.capture and c.capture.plan.roundings)
    rounding = traced.capture.plan.roundings[0]
    subject = f"rounding of {rounding.boundary}"
    decision = Decision(
        subject=subject, result=f"in launch {rounding.launch}, mm", before="fx", after="code", mechanism=""
    )
    inner = msgspec.structs.replace(traced.capture.capture, decisions=(decision,))
    older = msgspec.structs.replace(traced, capture=msgspec.structs.replace(traced.capture, capture=inner))
    said, ran = words(cells.section(older, "decisions")), words(cells.section(older, "what-ran"))
    number = rounding.launch + 1
    assert f"{rounding.boundary} in activity {number}:" in ran
    assert f"{subject}: in activity {number}, mm" in said
    assert f"The capture record numbers activities from 0 where it says “in launch {rounding.launch}”" in said
    newer = msgspec.structs.replace(decision, result=f"in activity {number}, mm")
    inner = msgspec.structs.replace(inner, decisions=(newer,))
    newer_cell = msgspec.structs.replace(traced, capture=msgspec.structs.replace(traced.capture, capture=inner))
    assert "from 0" not in words(cells.section(newer_cell, "decisions"))


def test_an_order_that_is_partly_inferred_is_said_to_be(cells):
    traced = cells.traced("max")
    assert "in launch order. Order, not duration." in words(cells.section(traced, "what-ran"))
    plan = msgspec.structs.replace(traced.capture.plan, notes=(f"{INFERRED}the place of activity 2, cublasGemmEx",))
    placed = msgspec.structs.replace(traced, capture=msgspec.structs.replace(traced.capture, plan=plan))
    said = words(cells.section(placed, "what-ran"))
    assert "in launch order, as far as it is known: notes below say what of it is inferred." in said
    assert "the place of activity 2, cublasGemmEx" in said
