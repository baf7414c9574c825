"""Step 6: a timed configuration looked into, on the allocation it was timed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tensor_assets.campaign.capture import captures_of
from tensor_assets.campaign.environment import environment_record, searches
from tensor_assets.campaign.fixtures import fixture_record, load_fixtures
from tensor_assets.campaign.options import CellOptions
from tensor_assets.campaign.session import restored_folder
from tensor_assets.campaign.stored import Stored, file
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.records import BenchmarkRecord, CaptureRecord, ProfileRecord
from tensor_assets.sessions.profile import Subject, profile_configuration
from tensor_assets.workers.launch import worker_for
from tensor_assets.workers.process import Worker


def profile_cell(
    space: Workspace,
    workload: str,
    compiler: str,
    options: CellOptions,
    benchmarks: Sequence[Stored[BenchmarkRecord]],
) -> list[Stored[ProfileRecord]]:
    """One record for each of ``benchmarks``; what no profiler could see is named in it.

    Raises AllocationMismatch on another allocation than the benchmarks', DeviceRefused where there is no device.
    """
    fixtures = fixture_record(space, workload, options.shape)
    captures = captures_of(space, workload, options.target, options.shape, compiler)
    by_variant = {capture.record.key.variant: capture.record for capture in captures}
    made = []
    for benchmark in benchmarks:
        capture = by_variant[benchmark.record.key.variant]
        subject = Subject(
            program=fixtures.record.program,
            fixtures=load_fixtures(space, fixtures.record),
            benchmark_id=benchmark.id,
            benchmark=benchmark.record,
            start=_Starter(space, capture),
            sass=_machine_code(space, capture),
            searches=searches(environment_record(space, compiler, options.target).stored.record, capture.key.variant),
        )
        profiled = profile_configuration(
            subject, target=options.target, keeper=space.store, lease=space.host_lease(), granted=space.lease
        )
        space.require_wanted()
        made.append(file(space.store, profiled))
    return made


class _Starter:
    """Starts workers of one captured configuration, a profiler around them where asked for."""

    def __init__(self, space: Workspace, capture: CaptureRecord) -> None:
        self._space, self._capture = space, capture

    def __call__(self, path: Path, prefix: Sequence[str], variables: Mapping[str, str]) -> Worker:
        key = self._capture.key
        ready = environment_record(self._space, key.compiler, key.target)
        assert ready.environment is not None, "a timed capture had an environment"
        folder = restored_folder(self._space, path, self._capture.cache)
        adapter = self._space.adapter(key.compiler)
        return worker_for(adapter, ready.environment, folder, prefix=prefix, variables=variables)


def _machine_code(space: Workspace, capture: CaptureRecord) -> dict[str, str]:
    languages = {stage.name: stage.language for stage in capture.capture.stages} if capture.capture else {}
    return {
        file.stage: space.store.read(file.text).decode(errors="replace")
        for file in capture.stages
        if languages.get(file.stage) == "sass"
    }
