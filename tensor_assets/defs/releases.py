"""Group ``releases``: what the index offers, a candidate's trial beside the accepted release, what changed."""

import json
from collections.abc import Iterator
from typing import NamedTuple

import dagster as dg
from pydantic import Field

from tensor_assets.campaign.options import Options
from tensor_assets.campaign.workspace import resolved_target
from tensor_assets.defs.checks import held_check
from tensor_assets.defs.jobs import CAPTURE_CELLS
from tensor_assets.defs.release_metadata import changes_metadata, news_metadata, proposal_metadata, trial_metadata
from tensor_assets.defs.resources import SessionConfig, WorkspaceResource
from tensor_assets.errors import TensorAssetsError
from tensor_assets.launchers.launcher import POOL as GPU_POOL
from tensor_assets.partitions import CELLS, COMPILERS, EVERY, Cell
from tensor_assets.releases.accepted import accepted_release
from tensor_assets.releases.changes import record_changes
from tensor_assets.releases.news import release_news
from tensor_assets.releases.paired import FEWEST_PROCESSES
from tensor_assets.releases.requests import Wanted, wanted_of
from tensor_assets.releases.running import Proposal, try_release


class ReleaseConfig(dg.Config):
    pre: bool = Field(default=False, description="Take pre-releases too.")


class TrialConfig(SessionConfig):
    workloads: list[str] = Field(default=[], description="To try it on; empty: what the accepted release ran.")
    processes: int = Field(default=FEWEST_PROCESSES, ge=1, le=16, description="Fresh processes of each arm.")


@dg.asset(partitions_def=COMPILERS, group_name="releases", kinds={"python", "uv"})
def compiler_release(
    context: dg.AssetExecutionContext, config: ReleaseConfig, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """The newest version of one compiler and its companions on the configured package index.

    An outage is a record with its reason; the index is asked again the next night.
    """
    space = workspace.open()
    stored = release_news(space, context.partition_key, pre=config.pre)
    if stored.record.outcome.status != "ok":
        context.log.warning(stored.record.outcome.reason)
    return dg.MaterializeResult(metadata=news_metadata(stored, space.store))


@dg.asset(
    partitions_def=COMPILERS,
    group_name="releases",
    kinds={"python"},
    deps=[compiler_release],
    pool=GPU_POOL,
    check_specs=[
        dg.AssetCheckSpec(
            "held",
            asset="release_trial",
            partitions_def=COMPILERS,
            description="Fails while the newest release is held: it broke something, and the accepted one stays.",
        )
    ],
)
def release_trial(
    context: dg.AssetExecutionContext, config: TrialConfig, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """The newest release beside the accepted one, in one session: accepted if nothing broke, else held.

    What was tried is not tried again unless forced. A held release is alerted once, by a warning of its run.
    """
    space, compiler = workspace.open(), context.partition_key
    done = try_release(space, compiler, config.options(), tuple(config.workloads))
    for changes in done.changes:
        if changes.record.alert:
            context.log.warning(changes.record.headline)
    if isinstance(done, Proposal):
        told = proposal_metadata(done, accepted_release(space.adapter(compiler)))
    else:
        told = trial_metadata(done)
    return dg.MaterializeResult(metadata=told, check_results=[held_check(space, compiler)])


@dg.asset(
    group_name="releases",
    kinds={"python"},
    deps=[dg.AssetDep(release_trial, partition_mapping=EVERY)],
)
def changes(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """What each decided release changed, told once: from the accepted one before to one accepted or held."""
    space = workspace.open()
    record_changes(space)
    return dg.MaterializeResult(metadata=changes_metadata(space.store))


ASK_INDEX = dg.define_asset_job(
    "ask_index",
    dg.AssetSelection.assets("compiler_release"),
    description="Ask the package index for a compiler's newest release.",
)
TRY_RELEASE = dg.define_asset_job(
    "try_release",
    dg.AssetSelection.assets("release_trial"),
    description="Try a compiler's newest release beside the accepted one.",
)
TELL_CHANGES = dg.define_asset_job(
    "tell_changes",
    dg.AssetSelection.assets("changes"),
    description="What the decided releases changed.",
)


@dg.schedule(
    name="nightly_releases",
    job=ASK_INDEX,
    cron_schedule="0 3 * * *",
    description="Asks the package index for every compiler, once a night; what is new is tried by the release sensor.",
)
def nightly_releases(context: dg.ScheduleEvaluationContext, workspace: WorkspaceResource) -> Iterator[dg.RunRequest]:
    """One run a compiler and night, whatever happened to the night's other runs."""
    night = context.scheduled_execution_time.date().isoformat()
    for name, adapter in workspace.open().adapters.items():
        if adapter.package and name in COMPILERS.get_partition_keys():  # a newcomer's once the location is reloaded
            yield dg.RunRequest(run_key=f"{name} {night}", partition_key=name)


@dg.sensor(
    name="new_releases",
    jobs=[TRY_RELEASE, CAPTURE_CELLS, TELL_CHANGES],
    minimum_interval_seconds=300,
    description="Requests the trial of a new release, and the cells of one that was accepted: that compiler's alone, "
    'each once. Set the cursor to {"again": 1} (2, 3, …) to have everything that is still wanted requested anew.',
)
def new_releases(context: dg.SensorEvaluationContext, workspace: WorkspaceResource) -> dg.SensorResult | dg.SkipReason:
    """A run that failed is not requested again by itself: its key is spent, and the reason says so."""
    space = workspace.open()
    space.forget_adapters()  # a decision may have been made since the last tick
    try:
        wants = wanted_of(space, Options(target=resolved_target(space.settings.target)))
    except TensorAssetsError as error:
        return dg.SkipReason(f"the store cannot be asked: {error}")
    cursor = Cursor.read(context.cursor)
    runs = [wanted for wanted in wants.runs if _has_partition(wanted)]
    fresh = [wanted for wanted in runs if wanted.name not in cursor.requested]
    if not fresh:
        said = [*_waiting(runs), *_unknown(wants.runs), *wants.reasons]
        return dg.SkipReason("; ".join(said) or "no compiler has a package")
    return dg.SensorResult(
        run_requests=[_request(wanted, cursor, space.settings.target) for wanted in fresh],
        cursor=cursor.after([wanted.name for wanted in runs]),
    )


def _has_partition(wanted: Wanted) -> bool:
    """Whether this code location, as it was loaded, has what the run is for: Dagster gives up a tick that asks for
    anything else, with all its other requests."""
    if wanted.kind == "cell":
        return CELLS.has_partition_key(Cell(wanted.workload, wanted.compiler).partition)
    return wanted.kind == "changes" or COMPILERS.has_partition_key(wanted.compiler)


def _waiting(runs: list[Wanted]) -> list[str]:
    """What was requested and is still wanted. Cells are so for ever: their captures were made by the trial."""
    return [f"{one.name} was requested and has left no record: see its run" for one in runs if one.kind != "cell"]


def _unknown(runs: list[Wanted]) -> list[str]:
    return [f"{one.name} has no partition: reload the code location" for one in runs if not _has_partition(one)]


class Cursor(NamedTuple):
    """What is wanted and was requested already. ``again`` makes the keys of a forced round differ from all before."""

    again: int
    requested: frozenset[str]

    @classmethod
    def read(cls, text: str | None) -> "Cursor":
        """One that is no cursor of ours is the beginning: run keys still keep anything from running twice."""
        try:
            found = json.loads(text or "{}")
            return cls(int(found.get("again", 0)), frozenset(map(str, found.get("requested", ()))))
        except (ValueError, TypeError, AttributeError, OverflowError):
            return cls(0, frozenset())

    def after(self, names: list[str]) -> str:
        """What is no longer wanted is forgotten, so that a cursor stays small."""
        return json.dumps({"again": self.again, "requested": sorted(names)})


def _request(wanted: Wanted, cursor: Cursor, target: str) -> dg.RunRequest:
    key = f"{wanted.name} #{cursor.again}" if cursor.again else wanted.name
    tags = {"tensor_assets/why": wanted.why}
    if wanted.kind == "changes":
        return dg.RunRequest(run_key=key, job_name=TELL_CHANGES.name, tags=tags)
    if wanted.kind == "trial":
        config = {"ops": {"release_trial": {"config": {"target": target}}}}
        return dg.RunRequest(
            run_key=key, job_name=TRY_RELEASE.name, partition_key=wanted.compiler, run_config=config, tags=tags
        )
    cell = Cell(workload=wanted.workload, compiler=wanted.compiler)
    config = {"ops": {"capture": {"config": {"target": target, "shape": wanted.shape}}}}
    return dg.RunRequest(
        run_key=key, job_name=CAPTURE_CELLS.name, partition_key=cell.partition, run_config=config, tags=tags
    )


ASSETS = [compiler_release, release_trial, changes]
JOBS = [ASK_INDEX, TRY_RELEASE, TELL_CHANGES]
SCHEDULES = [nightly_releases]
SENSORS = [new_releases]
