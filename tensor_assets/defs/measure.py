"""Group ``measure``: a workload's timing session, and each cell's view of it."""

from collections.abc import Iterator, Sequence

import dagster as dg

from tensor_assets.campaign.benchmark import benchmark_cell
from tensor_assets.campaign.capture import captures_of
from tensor_assets.campaign.session import time_workload
from tensor_assets.defs.cells import CELLS_PER_RUN, Result, cell_by_cell
from tensor_assets.defs.checks import benchmark_check
from tensor_assets.defs.metadata import benchmark_metadata, session_metadata
from tensor_assets.defs.resources import CellConfig, SessionConfig, WorkspaceResource
from tensor_assets.launchers.launcher import POOL as GPU_POOL
from tensor_assets.partitions import CELLS, ON_WORKLOAD, WORKLOADS, Cell


@dg.asset(
    partitions_def=WORKLOADS,
    group_name="measure",
    kinds={"python"},
    deps=[dg.AssetDep("selected_plan", partition_mapping=ON_WORKLOAD)],
    pool=GPU_POOL,
)
def timing_session(
    context: dg.AssetExecutionContext, config: SessionConfig, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Every admitted configuration of one workload, timed in interleaved blocks on one allocation."""
    stored = time_workload(workspace.open(), context.partition_key, config.options())
    return dg.MaterializeResult(metadata=session_metadata(stored))


@dg.asset(
    partitions_def=CELLS,
    # Not the captures' number: assets of one number share runs, and a run of many cells passes nothing on inside it.
    backfill_policy=dg.BackfillPolicy.multi_run(2 * CELLS_PER_RUN),
    output_required=False,
    group_name="measure",
    kinds={"numpy"},
    deps=[dg.AssetDep(timing_session, partition_mapping=ON_WORKLOAD), "selected_plan"],
    check_specs=[
        dg.AssetCheckSpec(
            "timed", asset="benchmark", partitions_def=CELLS, description="Usable samples, noise floor, no drift."
        )
    ],
)
def benchmark(context: dg.AssetExecutionContext, config: CellConfig, workspace: WorkspaceResource) -> Iterator[Result]:
    """The cell's view of its workload's timing session: process medians, verdict, the A/A noise floor."""
    from tensor_assets.campaign.publish import latency_image  # see report.py

    space, options = workspace.open(), config.options()

    def benchmarked(cell: Cell) -> Sequence[dg.MaterializeResult]:
        benchmarks = benchmark_cell(space, cell.workload, cell.compiler, options)
        captures = captures_of(space, cell.workload, options.target, options.shape, cell.compiler)
        picture = latency_image(space, captures, benchmarks)
        checks = [benchmark_check("timed", benchmarks)]
        metadata = benchmark_metadata(benchmarks, picture)
        return [dg.MaterializeResult(asset_key="benchmark", metadata=metadata, check_results=checks)]

    yield from cell_by_cell(context, space, benchmarked, together=1)  # no worker to wait for


ASSETS = [timing_session, benchmark]
