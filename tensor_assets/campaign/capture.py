"""Step 3: a cell's captures, one record a variant, the default one first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

import msgspec
from tensor_worker.messages import Variant

from tensor_assets.campaign.environment import (
    environment_record,
    imported_environments,
    recorded_environment,
    searches,
)
from tensor_assets.campaign.fixtures import fixture_record, load_fixtures
from tensor_assets.campaign.method import ALTERNATIVES, CAPTURE, CONTRACT, KIT, source_hash
from tensor_assets.campaign.options import CellOptions
from tensor_assets.campaign.stored import Stored, file, provenance, reuse
from tensor_assets.campaign.workspace import Workspace, worker_target
from tensor_assets.errors import DeviceRefused, SettingsError
from tensor_assets.progress import announce
from tensor_assets.records import CaptureRecord, EnvironmentRecord, FixtureRecord, Key, Outcome
from tensor_assets.sessions.allocation import current_allocation, device_of
from tensor_assets.workers.adapters import AdapterFolder
from tensor_assets.workers.capture import CaptureTask, capture_variant
from tensor_assets.workers.environments import Environment
from tensor_assets.workers.scratch import scratch_folder

DEFAULT = "default"  # the form that keeps the contract; its outcome is the cell's
# The gate: where gemm itself is not admitted, nothing built on a contraction is worth capturing.
GATE = "gemm"


def capture_cell(space: Workspace, workload: str, compiler: str, options: CellOptions) -> list[Stored[CaptureRecord]]:
    """One record for every asked variant. A worker's trouble is its outcome; raises SettingsError on bad input."""
    fixtures = fixture_record(space, workload, options.shape)
    ready = environment_record(space, compiler, options.target)
    hindrance = _hindrance(space, workload, compiler, options.target, ready.stored.record)
    if hindrance is not None or ready.environment is None:
        return [_not_captured(space, fixtures, ready.stored, options.target, hindrance or ready.stored.record.outcome)]
    variants = chosen_variants(ready.stored.record, options.target, options.variants)
    cell = _Cell(space, space.adapter(compiler), ready.environment, ready.stored, fixtures, options)
    return [cell.capture(variant) for variant in variants]


def chosen_variants(record: EnvironmentRecord, target: str, asked: Sequence[str]) -> tuple[str, ...]:
    """The asked variants, or the default one and those recorded because they break the contract; default first.

    Raises SettingsError for a variant that the compiler does not offer.
    """
    offered = {variant.name: variant for variant in record.variants}
    for name in asked:
        if name not in offered:
            raise SettingsError(f"{record.key.compiler} has no variant {name!r} (have: {', '.join(offered)})")
    routine = tuple(
        name for name, variant in offered.items() if _routine(variant) and worker_target(target) in variant.targets
    )
    return tuple(dict.fromkeys((DEFAULT, *(asked or routine))))


def capture_key(
    workload: str, shape: str, adapter: AdapterFolder, variant: str, target: str, environment: str, patch: str = ""
) -> Key:
    """A capture is made again when its compiler's environment, adapter, the kit or the contract changes."""
    return Key(
        workload=workload,
        shape=shape,
        compiler=adapter.name,
        variant=variant,
        target=target,
        environment=environment,
        patch=patch,
        method=source_hash(adapter.path, KIT, CONTRACT, CAPTURE, ALTERNATIVES),
    )


def captures_of(
    space: Workspace, workload: str, target: str, shape: str = "", compiler: str = ""
) -> list[Stored[CaptureRecord]]:
    """Every variant captured of a workload with the environments and sources of now, in the compilers' order.

    Captures made elsewhere and taken in come after a compiler's own. ``compiler`` asks for that one's alone.
    """
    shape = space.shape(workload, shape)
    found = []
    for name in [compiler] if compiler else space.adapters:
        own = recorded_environment(space, space.adapter(name).name, target)
        for environment in [*([own] if own else []), *imported_environments(space, name, target)]:
            found += _captured(space, workload, shape, environment)
    return found


def default_capture(
    space: Workspace, workload: str, compiler: str, target: str, shape: str = ""
) -> Stored[CaptureRecord] | None:
    """The cell's own record: that of its default variant, or None if it was never captured."""
    found = captures_of(space, workload, target, shape, compiler)
    return next((stored for stored in found if stored.record.key.variant == DEFAULT), None)


def _captured(
    space: Workspace, workload: str, shape: str, environment: EnvironmentRecord
) -> list[Stored[CaptureRecord]]:
    adapter, filed = space.adapter(environment.key.compiler), environment.key
    names = dict.fromkeys((DEFAULT, *(variant.name for variant in environment.variants)))
    keys = (capture_key(workload, shape, adapter, name, filed.target, filed.environment, filed.patch) for name in names)
    store, elsewhere = space.store, space.store.imported()
    own_first = (store.latest(CaptureRecord, key, but=elsewhere) or store.latest(CaptureRecord, key) for key in keys)
    return [Stored(*found) for found in own_first if found]


def _routine(variant: Variant) -> bool:
    return variant.name == DEFAULT or not variant.keeps_contract


def _hindrance(
    space: Workspace, workload: str, compiler: str, target: str, environment: EnvironmentRecord
) -> Outcome | None:
    """Why the cell cannot be captured: its environment's own outcome, or a gate that is shut."""
    if environment.outcome.status != "ok":
        return environment.outcome
    if worker_target(target) == "cuda" and (refusal := _refusal(target)):
        return Outcome(status="unavailable", reason=refusal)
    if workload == GATE or GATE not in space.workloads:
        return None
    gates = [
        record
        for _, record in space.store.records(CaptureRecord)
        if (record.key.workload, record.key.compiler, record.key.target, record.key.variant, record.key.environment)
        == (GATE, compiler, target, DEFAULT, environment.key.environment)
    ]
    gate = max(gates, key=lambda record: record.provenance.created, default=None)
    if gate is None or gate.outcome.status == "ok":
        return None
    reason = f"{GATE}, the gate of every other workload, is {gate.outcome.status} on {target}: {gate.outcome.reason}"
    return Outcome(status="blocked", reason=reason)


def _refusal(target: str) -> str:
    """Why nothing can run on ``target`` here; empty where it can."""
    try:
        with device_of(target):
            return ""
    except DeviceRefused as refused:
        return str(refused)


def _not_captured(
    space: Workspace,
    fixtures: Stored[FixtureRecord],
    environment: Stored[EnvironmentRecord],
    target: str,
    outcome: Outcome,
) -> Stored[CaptureRecord]:
    adapter = space.adapter(environment.record.key.compiler)
    key = capture_key(
        fixtures.record.key.workload,
        fixtures.record.key.shape,
        adapter,
        DEFAULT,
        target,
        environment.record.key.environment,
    )
    parents = (fixtures.id, environment.id)
    return file(space.store, CaptureRecord(key=key, outcome=outcome, provenance=provenance(parents)))


class _Cell:
    def __init__(
        self,
        space: Workspace,
        adapter: AdapterFolder,
        environment: Environment,
        environment_stored: Stored[EnvironmentRecord],
        fixtures: Stored[FixtureRecord],
        options: CellOptions,
    ) -> None:
        self._space, self._adapter, self._environment, self._options = space, adapter, environment, options
        self._fixtures, self._environment_stored = fixtures, environment_stored

    def capture(self, variant: str) -> Stored[CaptureRecord]:
        filed, target = self._fixtures.record.key, self._options.target
        key = capture_key(filed.workload, filed.shape, self._adapter, variant, target, self._environment.hash)
        if not self._options.force and (found := reuse(self._space.store, CaptureRecord, key)):
            return found
        task = CaptureTask(
            adapter=self._adapter,
            environment=self._environment,
            program=self._fixtures.record.program,
            fixtures=load_fixtures(self._space, self._fixtures.record),
            variant=variant,
            target=worker_target(target),
            key=key,
            parents=(self._fixtures.id, self._environment_stored.id),
        )
        allocation = current_allocation(target, self._space.lease) if worker_target(target) == "cuda" else None
        with self._holding(task), scratch_folder(self._space.settings.cache, "capture-") as scratch:
            record = capture_variant(task, self._space.store, scratch, self._announce)
            self._space.require_wanted()
            return file(self._space.store, msgspec.structs.replace(record, allocation=allocation))

    def _holding(self, task: CaptureTask) -> AbstractContextManager[None]:
        """Compiling beside somebody's timing would spoil it, on whichever device; a search is itself a timing."""
        if searches(self._environment_stored.record, task.variant) and task.target != "sm_90":
            return self._space.host_lease().exclusive(f"searching {task.title}")
        return self._space.host_lease().shared(f"capturing {task.title}")

    def _announce(self, step: str) -> None:
        """Each step is a chance to end here, whatever the worker that was ended meanwhile made of the last one."""
        self._space.require_wanted()
        announce(step)
