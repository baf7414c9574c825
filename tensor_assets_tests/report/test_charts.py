"""Charts say what they show, refuse what must not be compared, and give every compiler its colour."""

from __future__ import annotations

import msgspec
import pytest

from tensor_assets.errors import AllocationMismatch
from tensor_assets.records import BenchmarkRecord, EffortRecord, Outcome
from tensor_assets.report import charts, measure_charts, profile_charts
from tensor_assets.report.effort_chart import search_effort
from tensor_assets.report.faces import in_order, load_faces
from tensor_assets.report.reading import read_snapshot
from tensor_assets.report.tables import of_main_shapes, of_one_allocation, tables_of
from tensor_assets.settings import ROOT
from tensor_assets_tests.report import campaign

# What the site promises: apart for colour-blind eyes (Okabe and Ito), the same on every page.
COLOURS = {
    "tinygrad": "#E69F00", "luminal": "#CC79A7", "max": "#0072B2", "inductor": "#D55E00", "tvm": "#009E73",
    "eager": "#7A7A7A", "triton": "#56B4E9",
}  # fmt: skip
# Every compiler as its adapter.json says, by its bare name.
FACES = {name: msgspec.structs.replace(face, title=name) for name, face in load_faces(ROOT / "adapters").items()}


@pytest.fixture(scope="module")
def tables(built):
    return tables_of(read_snapshot(built.store))


def test_the_title_is_the_finding_and_the_subtitle_says_device_clock_and_n(tables):
    chart = charts.latency(tables["timings"], "weight_view", campaign.H200, "device", FACES)
    assert chart.title == "weight_view: triton has the lowest median, 5.66\u202fµs; tvm takes 8.5×"
    for part in (campaign.H200, "device clock", "n = 18 processes", "A/A"):
        assert part in chart.subtitle


def test_configurations_within_noise_lead_together(tables):
    timings = tables["timings"].copy()
    own = (timings.workload == "weight_view") & (timings.target == campaign.H200) & (timings.clock == "device")
    timings.loc[own & (timings.compiler == "inductor"), "median_ns"] = 5.67e3
    chart = charts.latency(timings, "weight_view", campaign.H200, "device", FACES)
    assert "triton, inductor are lowest, no further apart than two runs of the same code" in chart.title


def test_where_nothing_differs_beyond_noise_nobody_leads(tables):
    timings = tables["timings"].copy()
    timings.loc[timings.workload == "weight_view", "noise"] = 2.0
    chart = charts.latency(timings, "weight_view", campaign.H200, "device", FACES)
    assert "differ no more than two runs of the same code" in chart.title
    assert "lowest" not in chart.title


def test_times_of_two_allocations_are_refused(tables):
    timings = tables["timings"].copy()
    timings.loc[timings.compiler == "max", "allocation"] = "another"
    with pytest.raises(AllocationMismatch, match="2 allocations"):
        charts.latency(timings, "weight_view", "cpu", "host", FACES)


def test_what_was_not_timed_has_no_chart(tables):
    assert charts.latency(tables["timings"], "weight_view", "sm_90", "host", FACES) is None


def test_every_compiler_keeps_its_colour(tables):
    chart = charts.latency(tables["timings"], "weight_view", campaign.H200, "device", FACES)
    colours = {row["label"]: row["colour"] for row in chart.spec["datasets"]["rows"]}
    assert colours == {name: colour for name, colour in COLOURS.items() if name != "luminal"}


def test_no_kind_of_activity_looks_like_a_compiler():
    assert not {colour.lower() for colour in COLOURS.values()} & set(charts.KIND_COLOURS.values())


def test_a_memset_is_drawn_as_an_activity(tables):
    chart = charts.activities(tables["kernels"], campaign.H200, campaign.H200, FACES, ["weight_view"], "weight_view")
    kinds = {(row["compiler"], row["kind"]) for row in chart.spec["datasets"]["rows"]}
    assert ("max", "memset") in kinds
    assert "up to 3" in chart.title


def test_a_chart_is_a_picture_without_scripts(tables):
    chart = charts.latency(tables["timings"], "weight_view", campaign.H200, "device", FACES)
    picture = charts.svg(chart)
    assert picture.startswith("<svg")
    assert "<script" not in picture
    assert "5.66" in picture


def test_a_benchmark_without_a_median_is_left_out(tmp_path):
    store = campaign.fill(str(tmp_path), ("gemm",))
    record = next(r for _, r in store.records(BenchmarkRecord) if r.key.compiler == "max" and r.timings)
    empty = tuple(msgspec.structs.replace(t, median_ns=None, series=(), noise=None) for t in record.timings)
    store.put(msgspec.structs.replace(record, timings=empty))
    chart = charts.latency(tables_of(read_snapshot(store))["timings"], "gemm", "cpu", "host", FACES)
    assert "max" not in {row["label"] for row in chart.spec["datasets"]["rows"]}


def test_adapters_state_the_promised_colours_and_order():
    faces = load_faces(ROOT / "adapters")
    assert {name: face.colour for name, face in faces.items()} == COLOURS
    assert in_order(set(COLOURS), faces) == list(COLOURS)
    assert in_order({"zig", "tvm", "ada"}, faces) == ["tvm", "ada", "zig"]


def test_activities_of_two_shapes_are_not_added_up(built):
    snapshot = read_snapshot(built.store)
    small = [
        msgspec.structs.replace(
            c, capture=msgspec.structs.replace(c.capture, key=msgspec.structs.replace(c.key, shape="s"))
        )
        for c in snapshot.configurations
    ]
    both = msgspec.structs.replace(snapshot, configurations=(*snapshot.configurations, *small))
    drawn = [
        charts.activities(of_main_shapes(tables_of(s)["kernels"], s, "cpu"), "cpu", "cpu", FACES, ["bias"], "bias")
        for s in (snapshot, both)
    ]
    assert drawn[0] == drawn[1]


def test_times_of_another_allocation_are_left_out_and_counted(tables):
    timings = tables["timings"].copy()
    timings.loc[timings.compiler == "max", "allocation"] = "another"
    shown, left_out = of_one_allocation(
        timings[(timings.target == campaign.H200) & (timings.workload == "weight_view")]
    )
    assert left_out == 1
    assert "max" not in set(shown.compiler)
    chart = charts.latency(shown, "weight_view", campaign.H200, "device", FACES, left_out)
    assert "1 timed on another allocation left out" in chart.subtitle


def _retimed(record, **medians):
    """The record with these medians in µs, by variant and block."""
    return msgspec.structs.replace(
        record,
        trials=tuple(
            msgspec.structs.replace(
                trial,
                series=msgspec.structs.replace(trial.series, median_ns=medians[trial.variant][trial.block] * 1e3),
            )
            if trial.variant in medians
            else trial
            for trial in record.trials
        ),
    )


@pytest.mark.parametrize(
    ("default", "tuned", "title"),
    [
        ((30, 40), (20, 32), "weight_view: called, tuned is 1.2–1.5× quicker in each of 2 blocks"),
        ((30, 60), (20, 40), "weight_view: called, tuned is 1.5× quicker in each of 2 blocks"),
        # Blocks are paired: what is slower than another block's default may be quicker than its own.
        ((20, 60), (15, 45), "weight_view: called, tuned is 1.3× quicker in each of 2 blocks"),
        ((30, 30), (20, 31), "weight_view: no search that ended made a call quicker in every block"),
        (
            (30, 30),
            (29.5, 29.5),
            "weight_view: no search that ended made a call quicker in every block",
        ),  # within the margin
    ],
)
def test_a_search_is_quicker_where_it_is_so_in_every_block(built, default, tuned, title):
    ((_, record),) = built.store.records(EffortRecord)
    timed = _retimed(record, default=default, tuned=tuned)
    assert search_effort(timed, "weight_view", FACES["tinygrad"]).title == title


def test_trials_that_have_no_time_are_counted_beside_the_chart(built):
    ((_, record),) = built.store.records(EffortRecord)
    wrong = Outcome(status="rejected", reason="wrong after timing: y on exact-0: 3 of 9 elements differ")
    trials = [
        msgspec.structs.replace(trial, outcome=wrong, series=None)
        if (trial.variant, trial.block) == ("tuned", 1)
        else trial
        for trial in record.trials
    ]
    chart = search_effort(msgspec.structs.replace(record, trials=tuple(trials)), "x", FACES["tinygrad"])
    assert chart.subtitle.endswith(
        "n = 3 fresh processes in paired blocks; "
        "kept apart: 2 stopped at the deadline (1,804 tried and 412 not timed each), 1 of wrong values"
    )
    given = search_effort(msgspec.structs.replace(record, method={"deadline_seconds": 90.0}), "x", FACES["tinygrad"])
    assert given.subtitle.startswith(f"NVIDIA H200, allocation {record.allocation.id[:12]}, host clock, n = 4 fresh ")
    assert "in paired blocks; each search given 90 s; kept apart" in given.subtitle
    assert chart.title == "x: called, tuned is 1.4× quicker in its block"


def test_gaps_that_are_the_tracers_are_no_gaps_of_the_program(built):
    """Seen on an H200: activities 480 µs apart under the tracer, of an invocation that takes 48 µs without it."""
    configurations = read_snapshot(built.store).configurations
    timed = next(c for c in configurations if c.profile and len(c.profile.kernels) > 1 and c.timings)
    far = msgspec.structs.replace(timed.profile, span_ns=timed.untraced_ns * 10)
    assert not timed.stretched
    assert msgspec.structs.replace(timed, profile=far).stretched
    drawn = profile_charts.timeline(far, "weight_view", "NVIDIA H200", timed.untraced_ns)
    rows = drawn.spec["datasets"]["rows"] if "datasets" in drawn.spec else drawn.spec["data"]
    assert "without their gaps" in drawn.subtitle
    assert "gap of" not in drawn.alternative
    assert "idle" not in drawn.title
    assert {row["gap"] for row in rows} == {"not known"}
    believed = profile_charts.timeline(timed.profile, "weight_view", "NVIDIA H200")
    assert "gap of" in believed.alternative


@pytest.mark.parametrize(
    ("quicker", "searches", "title"),
    [
        (0, 1, "In the one captured search what was chosen measured quickest"),
        (1, 1, "In the one captured search something measured quicker than what was chosen"),
        (1, 2, "In 1 of 2 captured searches something measured quicker than what was chosen"),
        (0, 2, "In all 2 captured searches what was chosen measured quickest"),
    ],
)
def test_one_search_is_worded_as_one(quicker, searches, title):
    assert measure_charts.candidates_title(quicker, searches) == title


def test_the_lowest_median_of_one_program_names_it(tables):
    cells = tables["cells"][tables["cells"].workload == "weight_view"]
    chart = charts.latency_overview(cells, campaign.H200, "device", campaign.H200, FACES, ["weight_view"])
    assert chart.title == "triton has the lowest median in weight_view"
