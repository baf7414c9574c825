"""Group ``report``: tables, charts, pages and the site, drawn from the store's records alone.

What draws them (pandas, Altair) takes longer to import than Dagster itself, and every run imports this module: so it
is imported by the assets that draw.
"""

import dagster as dg

from tensor_assets.defs.metadata import files_metadata, tables_metadata
from tensor_assets.defs.resources import WorkspaceResource
from tensor_assets.partitions import EVERY


@dg.asset(
    group_name="report",
    kinds={"pandas", "parquet"},
    deps=[dg.AssetDep(name, partition_mapping=EVERY) for name in ("semantic_ir", "selected_plan", "benchmark")],
)
def results(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Tidy tables of every cell, whatever its outcome: the latest record of each key."""
    from tensor_assets.campaign import publish

    return dg.MaterializeResult(metadata=tables_metadata(publish.results(workspace.open())))


@dg.asset(group_name="report", kinds={"altair"}, deps=[results])
def charts(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Altair specs, and each as SVG for print, feeds and readers without JavaScript."""
    from tensor_assets.campaign import publish

    return dg.MaterializeResult(metadata=files_metadata(publish.charts(workspace.open())))


@dg.asset(group_name="report", kinds={"markdown"}, deps=[results, charts, "claims", "changes"])
def pages(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Markdown pages: hand-written ones with their numbers filled in, and one per cell."""
    from tensor_assets.campaign import publish

    return dg.MaterializeResult(metadata=files_metadata(publish.pages(workspace.open())))


@dg.asset(group_name="report", kinds={"mkdocs"}, deps=[pages])
def site(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """The built MkDocs site: opens from disk, asks no other host for anything."""
    from tensor_assets.campaign import publish

    return dg.MaterializeResult(metadata=files_metadata(publish.site(workspace.open())))


ASSETS = [results, charts, pages, site]
