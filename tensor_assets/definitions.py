"""The code location: every asset, check, job and resource of the project."""

import warnings

import dagster as dg

# Partitioned checks and multi-partition mappings are marked preview and beta; what they do here is pinned and tested.
warnings.filterwarnings("ignore", category=dg.BetaWarning)
warnings.filterwarnings("ignore", category=dg.PreviewWarning)

from tensor_assets.defs import jobs, measure, prepare, report, understand  # noqa: E402
from tensor_assets.defs.resources import WorkspaceResource  # noqa: E402

defs = dg.Definitions(
    assets=[*prepare.ASSETS, *understand.ASSETS, *measure.ASSETS, *report.ASSETS],
    jobs=jobs.JOBS,
    resources={"workspace": WorkspaceResource()},
    # A worker is a fresh process anyway: 0.1 s a step here, 3.9 s with the multiprocess executor.
    executor=dg.in_process_executor,
)
