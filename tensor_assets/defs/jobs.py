"""Jobs people start from the UI; one run per partition."""

import dagster as dg

from tensor_assets.partitions import CELLS, WORKLOADS

BUILD_SITE = dg.define_asset_job(
    "build_site",
    dg.AssetSelection.groups("report"),
    description="Tables, charts, pages and the site from the records in the store.",
)

CAPTURE_CELLS = dg.define_asset_job(
    "capture_cells",
    dg.AssetSelection.assets("semantic_ir", "selected_plan"),
    partitions_def=CELLS,
    description="Capture one workload × compiler: stages, plan, admission.",
)

JOBS = [
    CAPTURE_CELLS,
    dg.define_asset_job(
        "time_workloads",
        dg.AssetSelection.assets("timing_session"),
        partitions_def=WORKLOADS,
        description="Time every admitted configuration of one workload in one session.",
    ),
    BUILD_SITE,
]
