"""Search effort of one compiler on one workload: default, original and expanded search in paired blocks."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_worker.messages import Variant

from tensor_assets.campaign.environment import environment_record
from tensor_assets.campaign.fixtures import fixture_record, load_fixtures
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.session import starter
from tensor_assets.campaign.stored import Stored, file
from tensor_assets.campaign.workspace import Workspace, worker_target
from tensor_assets.errors import SettingsError
from tensor_assets.records import EffortRecord, Key
from tensor_assets.sessions.effort import DEADLINE, compare_effort
from tensor_assets.sessions.method import method_for
from tensor_assets.sessions.participants import Contender
from tensor_assets.workers.environments import Environment

# The experiment report's three levels, where a compiler offers them.
LEVELS = ("default", "tuned", "expanded")


def effort_of(
    space: Workspace, workload: str, compiler: str, options: Options, deadline: float = DEADLINE
) -> Stored[EffortRecord]:
    """Compile every level from cold caches, once a block, and time it. Raises SettingsError if nothing can be searched.

    ``deadline`` is seconds for one search; what it ends is kept as censored, with what it had tried.
    """
    environment, levels = searched(space, compiler, options.target)
    parent = environment_record(space, compiler, options.target).stored.id
    fixtures = fixture_record(space, workload, options.shape)
    start = starter(space, space.adapter(compiler), environment, None)
    filed, method = fixtures.record.key, method_for(options.target)
    record = compare_effort(
        fixtures.record.program,
        load_fixtures(space, fixtures.record),
        [Contender(compiler, level, "", start) for level in levels],
        target=options.target,
        deadline=deadline,
        seed=options.seed,
        key=Key(
            workload=filed.workload,
            shape=filed.shape,
            compiler=compiler,
            target=options.target,
            environment=environment.hash,
            method=method.hash,
        ),
        parents=(fixtures.id, parent),
        keeper=space.store,
        granted=space.lease,
    )
    return file(space.store, record)


def searched(space: Workspace, compiler: str, target: str) -> tuple[Environment, list[str]]:
    """The compiler's environment, and which levels it offers for ``target``. Raises SettingsError where there is no
    environment, or nothing to compare."""
    ready = environment_record(space, compiler, target)
    if ready.environment is None:
        raise SettingsError(f"{compiler} cannot search on {target}: {ready.stored.record.outcome.reason}")
    levels = _levels(ready.stored.record.variants, target)
    if len(levels) < 2:
        raise SettingsError(f"{compiler} offers no search on {target} (levels: {', '.join(levels) or 'none'})")
    return ready.environment, levels


def _levels(variants: Sequence[Variant], target: str) -> list[str]:
    offered = {variant.name: variant.targets for variant in variants}
    return [level for level in LEVELS if worker_target(target) in offered.get(level, ())]
