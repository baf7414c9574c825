"""Runs of many cells: each cell is reported as it ends, and none keeps another one from being made.

A run costs what several cells do that have nothing to compile: a process, a database of its own, a plan, a start and an
end that a daemon watches. So a backfill makes runs of up to ``CELLS_PER_RUN`` neighbouring cells (of one compiler, or
of one workload, whichever makes fewer runs). Measured in one go with workers that do nothing, 10 workloads × 6
compilers, two busy cores: runs of one cell cost 1.26 s of processor time a cell, of three 0.80 s, of six 0.60 s. (Of
ten, another time, 0.47 s; and 0.40 s with 100 × 10.) That a run is many cells is not to be noticed otherwise:

- As many of its cells are made side by side as this host has room for, see ``campaign/together.py``.
- A cell is materialized, and its checks evaluated, when it is done; what happens to the run later changes nothing.
- What is wrong with one cell is its outcome. What is wrong with this host (a full disk, a lost device) is logged for
  that cell, the others are tried, and the run fails at its end, naming those that are missing.
- A run that dies is repeated once, see ``launchers/queue.py``, from its other end: finished cells are found in the
  store, and a cell that kills whatever runs it is reached when the others are made.

Dagster's own result for a run of many partitions would materialize all or none of them, at the end.
"""

from collections.abc import Callable, Iterator, Sequence

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluation,
    AssetCheckEvaluationTargetMaterializationData,
)
from dagster._core.definitions.partitions.utils.multi import get_tags_from_multi_partition_key

from tensor_assets.campaign.together import side_by_side
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.launchers import tags
from tensor_assets.partitions import Cell

CELLS_PER_RUN = 10

Result = dg.MaterializeResult | dg.AssetMaterialization | AssetCheckEvaluation | dg.Output


def cell_by_cell(
    context: dg.AssetExecutionContext,
    space: Workspace,
    work: Callable[[Cell], Sequence[dg.MaterializeResult]],
    together: int = 0,
) -> Iterator[Result]:
    """The events of every cell that the run is for; ``work`` says what one cell came to, one result an asset.

    ``together`` cells at once, or as many as there is room for.

    Raises what ``work`` does for a run of one cell, dg.Failure at the end of one of many.
    """
    if context.has_partition_key:
        yield from work(Cell.from_partition(context.partition_key))
        return
    missing = []
    made = side_by_side(space, _in_order(context), lambda key: work(Cell.from_partition(key)), together)
    for key, results in made:
        if isinstance(results, Exception):
            context.log.error(f"{key} could not be made", exc_info=results)
            missing.append(f"{key} ({type(results).__name__}: {results})")
        else:
            yield from _reported(context, key, results)
    if missing:
        others = len(context.partition_keys) - len(missing)
        raise dg.Failure(f"{len(missing)} cells are missing, the other {others} are made: {'; '.join(missing)}")
    for spec in context.assets_def.check_specs:  # evaluated above; Dagster also wants the value that a check passes on
        yield dg.Output(None, spec.get_python_identifier())


def _in_order(context: dg.AssetExecutionContext) -> Sequence[str]:
    keys = list(context.partition_keys)
    return keys[::-1] if tags.PARENT in context.run.tags else keys


def _reported(
    context: dg.AssetExecutionContext, key: str, results: Sequence[dg.MaterializeResult]
) -> Iterator[dg.AssetMaterialization | AssetCheckEvaluation]:
    for result in results:
        asset = result.asset_key
        assert asset is not None, "work says which asset a result is of"
        yield dg.AssetMaterialization(asset, partition=key, metadata=result.metadata, tags=_dimensions(key))
        if result.check_results:
            materialized = _latest(context.instance, asset, key)
            yield from (_evaluation(one, asset, key, materialized) for one in result.check_results)


def _dimensions(key: str) -> dict[str, str]:
    """By which Dagster knows a partition of two dimensions when it reads the event again."""
    return dict(get_tags_from_multi_partition_key(Cell.from_partition(key).partition))


def _evaluation(
    result: dg.AssetCheckResult,
    asset: dg.AssetKey,
    key: str,
    materialized: AssetCheckEvaluationTargetMaterializationData | None,
) -> AssetCheckEvaluation:
    assert result.check_name is not None, "work says which check a result is of"
    return AssetCheckEvaluation(
        asset_key=asset,
        check_name=result.check_name,
        partition=key,
        passed=result.passed,
        severity=result.severity,
        description=result.description,
        metadata=result.metadata,
        target_materialization_data=materialized,
    )


def _latest(
    instance: dg.DagsterInstance, asset: dg.AssetKey, key: str
) -> AssetCheckEvaluationTargetMaterializationData | None:
    """What a check of the cell is about: the materialization that was reported just before it."""
    about = dg.AssetRecordsFilter(asset_key=asset, asset_partitions=[key])
    found = instance.fetch_materializations(about, limit=1).records
    return (
        AssetCheckEvaluationTargetMaterializationData(
            storage_id=found[0].storage_id, run_id=found[0].run_id, timestamp=found[0].timestamp
        )
        if found
        else None
    )
