"""A run of many cells, on an instance of its own: what is reported of each, and what one of them does to the others."""

from collections.abc import Callable, Iterator, Sequence

import dagster as dg
import pytest

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.defs.cells import Result, cell_by_cell
from tensor_assets.launchers import tags
from tensor_assets.partitions import CELLS, Cell

KEYS = CELLS.get_partition_keys()[:3]  # neighbours
RANGE = {"dagster/asset_partition_range_start": KEYS[0], "dagster/asset_partition_range_end": KEYS[-1]}
Work = Callable[[Cell], Sequence[dg.MaterializeResult]]


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as made:
        yield made


def made(cell: Cell) -> list[dg.MaterializeResult]:
    """Two assets; the check of the second one warns for the middle cell."""
    check = dg.AssetCheckResult(
        check_name="outcome", passed=str(cell.partition) != KEYS[1], severity=dg.AssetCheckSeverity.WARN
    )
    return [
        dg.MaterializeResult(asset_key=dg.AssetKey("first"), metadata={"cell": cell.title}),
        dg.MaterializeResult(asset_key=dg.AssetKey("second"), metadata={"cell": cell.title}, check_results=[check]),
    ]


def run(instance: dg.DagsterInstance, work: Work, run_tags: dict[str, str], **options) -> dg.ExecuteInProcessResult:
    @dg.multi_asset(
        partitions_def=CELLS,
        specs=[dg.AssetSpec("first", skippable=True), dg.AssetSpec("second", skippable=True)],
        check_specs=[dg.AssetCheckSpec("outcome", asset="second", partitions_def=CELLS)],
    )
    def both(context: dg.AssetExecutionContext) -> Iterator[Result]:
        yield from cell_by_cell(context, Workspace(), work)

    return dg.materialize([both], instance=instance, tags=run_tags, raise_on_error=False, **options)


def materialized(instance: dg.DagsterInstance, asset: str) -> dict[str, str]:
    """Partition → the cell that its latest materialization is about."""
    records = instance.fetch_materializations(dg.AssetKey(asset), limit=100).records
    return {record.partition_key: record.asset_materialization.metadata["cell"].value for record in reversed(records)}


def test_every_cell_has_its_own_materialization_and_check(instance):
    ran = run(instance, made, RANGE)
    assert ran.success
    wanted = {key: Cell.from_partition(key).title for key in KEYS}
    assert materialized(instance, "first") == materialized(instance, "second") == wanted
    checks = {one.partition: one for one in ran.get_asset_check_evaluations()}
    assert {key: one.passed for key, one in checks.items()} == {KEYS[0]: True, KEYS[1]: False, KEYS[2]: True}
    about = {r.storage_id: r.partition_key for r in instance.fetch_materializations(dg.AssetKey("second"), 9).records}
    assert {key: about[one.target_materialization_data.storage_id] for key, one in checks.items()} == {
        key: key for key in KEYS
    }


def test_what_dagster_is_told_of_a_cell_is_the_same_in_a_run_of_its_own(instance):
    def told() -> tuple:
        (latest,) = instance.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=dg.AssetKey("second"), asset_partitions=[KEYS[1]]), limit=1
        ).records
        event = latest.asset_materialization
        return event.partition, event.metadata, {k: v for k, v in event.tags.items() if "partition" in k}

    assert run(instance, made, {}, partition_key=KEYS[1]).success
    alone = told()
    assert run(instance, made, RANGE).success
    assert told() == alone


def test_a_cell_that_cannot_be_made_keeps_no_other_from_it(instance):
    def work(cell: Cell) -> list[dg.MaterializeResult]:
        if str(cell.partition) == KEYS[0]:
            raise OSError("No space left on device")
        return made(cell)

    ran = run(instance, work, RANGE)
    assert not ran.success
    assert set(materialized(instance, "second")) == set(KEYS[1:])
    (failure,) = ran.get_step_failure_events()
    said = failure.step_failure_data.error.message
    assert f"1 cells are missing, the other 2 are made: {KEYS[0]} (OSError: No space left on device)" in said


def test_a_run_that_is_stopped_has_reported_what_was_done(instance):
    def work(cell: Cell) -> list[dg.MaterializeResult]:
        if str(cell.partition) == KEYS[1]:
            raise KeyboardInterrupt
        return made(cell)

    assert not run(instance, work, RANGE).success
    assert set(materialized(instance, "first")) == {KEYS[0]}


def test_a_repeated_run_begins_at_the_other_end(instance):
    begun: list[str] = []

    def work(cell: Cell) -> list[dg.MaterializeResult]:
        begun.append(str(cell.partition))
        return made(cell)

    assert run(instance, work, RANGE).success
    assert run(instance, work, {**RANGE, tags.PARENT: "the-first", tags.ROOT: "the-first"}).success
    assert begun == [*KEYS, *reversed(KEYS)]


def test_captures_and_benchmarks_share_no_run_of_many_cells():
    """Its first step would report its cells one by one and leave nothing for a second one to depend on."""
    from tensor_assets.definitions import defs

    graph = defs.resolve_asset_graph()
    policies = {name: graph.get(dg.AssetKey(name)).backfill_policy for name in ("selected_plan", "benchmark")}
    assert all(policy.max_partitions_per_run > 1 for policy in policies.values())
    assert policies["selected_plan"] != policies["benchmark"]
