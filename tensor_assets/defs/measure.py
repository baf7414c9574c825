"""Group ``measure``: a workload's timing session, and each cell's view of it."""

import dagster as dg

from tensor_assets.campaign.benchmark import benchmark_cell
from tensor_assets.campaign.capture import captures_of
from tensor_assets.campaign.session import time_workload
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
    group_name="measure",
    kinds={"numpy"},
    deps=[dg.AssetDep(timing_session, partition_mapping=ON_WORKLOAD), "selected_plan"],
    check_specs=[
        dg.AssetCheckSpec(
            "timed", asset="benchmark", partitions_def=CELLS, description="Usable samples, noise floor, no drift."
        )
    ],
)
def benchmark(
    context: dg.AssetExecutionContext, config: CellConfig, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """The cell's view of its workload's timing session: process medians, verdict, the A/A noise floor."""
    from tensor_assets.campaign.publish import latency_image  # see report.py

    cell = Cell.from_partition(context.partition_key)
    space, options = workspace.open(), config.options()
    benchmarks = benchmark_cell(space, cell.workload, cell.compiler, options)
    captures = captures_of(space, cell.workload, options.target, options.shape, cell.compiler)
    picture = latency_image(space, captures, benchmarks)
    return dg.MaterializeResult(
        metadata=benchmark_metadata(benchmarks, picture), check_results=[benchmark_check("timed", benchmarks)]
    )


ASSETS = [timing_session, benchmark]
