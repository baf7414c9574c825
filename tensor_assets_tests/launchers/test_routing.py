import pytest
from dagster import DagsterRun
from dagster._core.storage.dagster_run import RunOpConcurrency

from tensor_assets.launchers import tags
from tensor_assets.launchers.routing import route_of


def launched(pools=("gpu",), run_tags=None, **configured) -> DagsterRun:
    """A run as Dagster creates it for these pools; ``configured``: op → its target, None for no config at all."""
    ops = {op: {"config": {"target": target}} if target else {} for op, target in configured.items()}
    concurrency = RunOpConcurrency(root_key_counts={}, has_unconstrained_root_nodes=True, all_pools=set(pools))
    return DagsterRun(
        job_name="job", run_id="mine", run_config={"ops": ops}, tags=run_tags or {}, run_op_concurrency=concurrency
    )


@pytest.mark.parametrize(
    ("run", "setting", "route"),
    [
        (launched(capture="cuda"), "cpu", tags.GPU),
        (launched(capture="NVIDIA H200"), "cpu", tags.GPU),
        (launched(capture="cpu"), "cuda", tags.DEFAULT),
        (launched(timing_session="sm_90"), "cuda", tags.DEFAULT),
        (launched(capture=None), "cuda", tags.GPU),
        (launched(capture=None), "cpu", tags.DEFAULT),
        (launched(), "cuda", tags.GPU),
        (launched(capture="cpu", timing_session="cuda"), "cpu", tags.GPU),
        (launched(pools=(), capture="cuda"), "cuda", tags.DEFAULT),
        (launched(pools=("other",), capture="cuda"), "cuda", tags.DEFAULT),
        (DagsterRun(job_name="job", run_config={}), "cuda", tags.DEFAULT),
    ],
)
def test_a_run_goes_where_its_pool_and_its_target_say(monkeypatch, run, setting, route):
    monkeypatch.setenv("TENSOR_ASSETS_TARGET", setting)
    assert route_of(run, "gpu") == route


def test_the_assets_that_use_a_gpu_are_in_the_pool():
    from tensor_assets.definitions import defs

    nodes = defs.resolve_all_asset_specs()
    pools = {key.to_user_string(): defs.resolve_asset_graph().get(key).pools for key in (spec.key for spec in nodes)}
    assert {"semantic_ir", "selected_plan", "timing_session"} <= {name for name, pool in pools.items() if "gpu" in pool}
    assert not pools["fixtures"]
    assert not pools["site"]


@pytest.mark.parametrize(
    ("given", "session"),
    [
        ({}, "mine"),
        ({tags.SESSION: "monday"}, "monday"),
        ({tags.BACKFILL: "abc"}, "backfill-abc"),
        ({tags.SESSION: "monday", tags.BACKFILL: "abc"}, "monday"),
        ({tags.SESSION: "first", tags.PARENT: "first", tags.ROOT: "first"}, "mine"),
        ({tags.SESSION: "monday", tags.PARENT: "first"}, "monday"),
    ],
)
def test_a_session_is_given_or_the_backfill_or_the_run_itself(given, session):
    assert tags.session_of(launched(run_tags=given)) == session


def test_what_was_found_out_about_the_repeated_run_does_not_count():
    found = {tags.DEVICE: "GPU-1", tags.PROCESS: "{}", "team": "a"}
    assert tags.own(launched(run_tags={**found, tags.RUN: "mine"}))[tags.DEVICE] == "GPU-1"
    assert tags.own(launched(run_tags={**found, tags.RUN: "another"})) == {tags.RUN: "another", "team": "a"}
