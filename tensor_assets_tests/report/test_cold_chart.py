"""Cold beside warm: what runs quicker with a flushed cache is named, and only where noise does not explain it."""

from __future__ import annotations

import itertools

import msgspec
import pandas as pd
import pytest

from tensor_assets.report.cold_chart import cold_and_warm, judge_states
from tensor_assets.report.faces import load_faces
from tensor_assets.report.reading import read_snapshot
from tensor_assets.report.said_rightly import _of_chart
from tensor_assets.report.tables import tables_of
from tensor_assets.settings import ROOT
from tensor_assets_tests.report import campaign

FACES = {name: msgspec.structs.replace(face, title=name) for name, face in load_faces(ROOT / "adapters").items()}
SPREAD = (0.99, 1.0, 1.01)  # of three processes of one program
WARM = {"eager": 18.0, "max": 26.0, "tvm": 50.0, "triton": 14.0, "tinygrad": 40.0}  # µs


def tables(cold, spread=SPREAD):
    """Timings and processes of one session on a GPU: ``cold`` is each compiler's time over its warm one."""
    timings, processes = [], []
    for (compiler, warm), cache in itertools.product(WARM.items(), ("warm", "cold")):
        own = {"workload": "gemm", "compiler": compiler, "variant": "default", "target": campaign.H200}
        own |= {"shape": "matrix", "clock": "graph", "cache": cache, "data": "random", "session": "s"}
        own |= {"allocation": "a"}
        median = 1e3 * warm * (cold.get(compiler, 1.2) if cache == "cold" else 1.0)
        timings.append(own | {"median_ns": median})
        processes += [own | {"process": number, "median_ns": median * of} for number, of in enumerate(spread)]
    return pd.DataFrame(timings), pd.DataFrame(processes)


def drawn(cold, spread=SPREAD):
    return cold_and_warm(*tables(cold, spread), campaign.H200, campaign.H200, FACES)


def rows(chart):
    return {row["label"]: row for row in chart.spec["datasets"]["rows"]}


def test_what_is_quicker_cold_is_in_the_title_and_named_with_its_interval():
    chart = drawn({"eager": 0.9, "tvm": 1.5})
    assert chart.title == "A flushed cache costs up to 1.50× (gemm × tvm), and 1 of 5 configurations is quicker with it"
    assert "quicker cold, beyond noise: gemm × eager 0.900× (95 %: 0.88" in chart.subtitle
    assert "not in turns" in chart.subtitle
    assert rows(chart)["gemm × eager"]["said"] == "0.900×, quicker cold"
    assert rows(chart)["gemm × tvm"]["said"] == "1.50×"


def test_a_lower_median_alone_is_no_finding():
    """The processes of one program differ by far more than two per cent here."""
    chart = drawn({"eager": 0.98}, spread=(0.9, 1.0, 1.1))
    assert "quicker" not in chart.title + chart.subtitle
    assert rows(chart)["gemm × eager"]["said"] == "0.980×, within noise"


def test_within_the_margin_it_is_the_same():
    chart = drawn({"eager": 0.999}, spread=(0.999, 1.0, 1.001))
    assert "quicker" not in chart.title + chart.subtitle
    assert rows(chart)["gemm × eager"]["said"] == "0.999×, the same"


def test_one_process_a_configuration_tells_of_no_difference():
    chart = drawn({"eager": 0.5}, spread=(1.0,))
    assert "quicker" not in chart.title + chart.subtitle
    assert rows(chart)["gemm × eager"]["said"] == "0.500×"
    assert rows(chart)["gemm × eager"]["interval"] == "not known"


def test_where_nothing_is_slower_no_cost_is_told():
    chart = drawn(dict.fromkeys(WARM, 0.8))
    assert chart.title == "A flushed cache slows nothing down, and 5 of 5 configurations are quicker with it"


def test_noise_is_of_the_lines_own_session():
    """Another session's loud processes say nothing about this one."""
    _, quiet = tables({"eager": 0.9})
    _, loud = tables({"eager": 0.9}, spread=(0.5, 1.0, 2.0))
    judged = judge_states(pd.concat([quiet, loud.assign(session="t")]))
    verdicts = {subject[-1]: found.verdict for subject, found in judged.items() if "eager" in subject}
    assert verdicts == {"s": "faster", "t": "uncertain"}


@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_one_state_alone_has_no_chart(cache):
    timings, processes = tables({})
    only = timings[timings.cache == cache], processes[processes.cache == cache]
    assert cold_and_warm(*only, campaign.H200, campaign.H200, FACES) is None


def test_the_clock_nearest_to_the_activities_is_shown_of_two_that_timed_as_many():
    timings, processes = tables({})
    both = [pd.concat([table.assign(clock="host"), table]) for table in (timings, processes)]
    assert "graph clock" in cold_and_warm(*both, campaign.H200, campaign.H200, FACES).subtitle


def test_lines_of_several_allocations_say_so(built):
    found = tables_of(read_snapshot(built.store))
    timings, processes = (found[name].assign(allocation=found[name].compiler) for name in ("timings", "processes"))
    chart = cold_and_warm(timings, processes, campaign.H200, campaign.H200, FACES)
    assert list(_of_chart(chart.spec)) == []
