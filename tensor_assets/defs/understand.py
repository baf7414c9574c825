"""Group ``understand``: what a compiler made of a program, and whether it is right."""

from collections.abc import Iterator, Sequence

import dagster as dg

from tensor_assets.campaign.capture import capture_cell
from tensor_assets.defs.cells import CELLS_PER_RUN, Result, cell_by_cell
from tensor_assets.defs.checks import admission_check, outcome_check
from tensor_assets.defs.metadata import plan_metadata, semantic_metadata
from tensor_assets.defs.prepare import environment, fixtures
from tensor_assets.defs.resources import CellConfig, WorkspaceResource
from tensor_assets.launchers.launcher import POOL as GPU_POOL
from tensor_assets.partitions import CELLS, ON_COMPILER, ON_WORKLOAD, Cell

_SOURCES = [
    dg.AssetDep(fixtures, partition_mapping=ON_WORKLOAD),
    dg.AssetDep(environment, partition_mapping=ON_COMPILER),
]


@dg.multi_asset(
    name="capture",
    pool=GPU_POOL,
    partitions_def=CELLS,
    backfill_policy=dg.BackfillPolicy.multi_run(CELLS_PER_RUN),
    specs=[
        dg.AssetSpec(
            "semantic_ir",
            description="The program as the compiler first holds it: native stages and the semantic graph.",
            group_name="understand",
            kinds={"mlir"},
            deps=_SOURCES,
            skippable=True,
        ),
        dg.AssetSpec(
            "selected_plan",
            description="What was selected: launches in order, geometry, buffers, roundings, and its admission.",
            group_name="understand",
            kinds={"cuda"},
            deps=_SOURCES,
            skippable=True,
        ),
    ],
    check_specs=[
        dg.AssetCheckSpec(
            "outcome", asset="selected_plan", partitions_def=CELLS, description="How the default variant ended."
        ),
        dg.AssetCheckSpec(
            "admission",
            asset="selected_plan",
            partitions_def=CELLS,
            description="Exact fixtures bit for bit; the boundary that broke, where one did.",
        ),
    ],
)
def capture(context: dg.AssetExecutionContext, config: CellConfig, workspace: WorkspaceResource) -> Iterator[Result]:
    """One worker per variant, from cold caches: stages, graph, plan, fingerprint, admission verdict."""
    space, options = workspace.open(), config.options()

    def captured(cell: Cell) -> Sequence[dg.MaterializeResult]:
        captures = capture_cell(space, cell.workload, cell.compiler, options)
        checks = [outcome_check("outcome", captures), admission_check("admission", captures)]
        return [
            dg.MaterializeResult(asset_key="semantic_ir", metadata=semantic_metadata(captures)),
            dg.MaterializeResult(asset_key="selected_plan", metadata=plan_metadata(captures), check_results=checks),
        ]

    yield from cell_by_cell(context, space, captured)


ASSETS = [capture]
