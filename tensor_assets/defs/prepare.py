"""Group ``prepare``: the fixtures of a workload and the environment of a compiler."""

import dagster as dg

from tensor_assets.campaign.environment import environment_record
from tensor_assets.campaign.fixtures import fixture_record
from tensor_assets.campaign.workspace import resolved_target
from tensor_assets.defs.metadata import environment_metadata, fixtures_metadata
from tensor_assets.defs.resources import EnvironmentConfig, ShapeConfig, WorkspaceResource
from tensor_assets.partitions import COMPILERS, WORKLOADS


@dg.asset(partitions_def=WORKLOADS, group_name="prepare", kinds={"numpy"})
def fixtures(
    context: dg.AssetExecutionContext, config: ShapeConfig, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Inputs and reference outputs of one workload, hashed.

    Exact fixtures are proven at creation: every partial sum of every contraction is exact in FP32, in any order.
    """
    stored = fixture_record(workspace.open(), context.partition_key, config.shape, force=config.force)
    return dg.MaterializeResult(metadata=fixtures_metadata(stored))


@dg.asset(partitions_def=COMPILERS, group_name="prepare", kinds={"python", "uv"}, deps=["compiler_release"])
def environment(
    context: dg.AssetExecutionContext, config: EnvironmentConfig, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """One compiler's isolated environment, built from its hash-pinned lock; a failed install is an outcome."""
    ready = environment_record(
        workspace.open(), context.partition_key, resolved_target(config.target), force=config.force
    )
    return dg.MaterializeResult(metadata=environment_metadata(ready.stored))


ASSETS = [fixtures, environment]
