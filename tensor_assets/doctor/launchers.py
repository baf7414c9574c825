"""The run launcher and the queue of dagster.yaml: each nested launcher made, the policy held against the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dagster._core.launcher import RunLauncher
from dagster._core.run_coordinator import QueuedRunCoordinator, RunCoordinator

from tensor_assets.doctor.findings import Finding, fail, first_line, ok, warn
from tensor_assets.errors import DeviceRefused, TensorAssetsError
from tensor_assets.launchers import H100RunLauncher, tags
from tensor_assets.launchers.routing import HOST_TARGETS
from tensor_assets.sessions.gpu_lease import GpuLease, leased_uuids
from tensor_assets.sessions.inventory import installed_devices
from tensor_assets.sessions.nvml import Installed

Listed = Callable[[], Sequence[Installed]]
_EACH = {"applyLimitPerUniqueValue": True}


def check_launcher(
    launcher: RunLauncher[Any] | None,
    coordinator: RunCoordinator[Any] | None,
    source: Path,
    target: str,
    listed: Listed = installed_devices,
) -> Iterator[Finding]:
    """Another launcher than ours runs everything too, with no device looked at and none leased."""
    if not isinstance(launcher, H100RunLauncher):
        said = f"{type(launcher).__name__} checks and leases no device"
        yield warn("run launcher", said, f"in {source}: module tensor_assets.launchers, class H100RunLauncher")
        return
    yield from check_nested(launcher, source)
    yield from check_policy(launcher, source, target, listed)
    yield from check_queue(coordinator, launcher, source, listed)


def check_nested(launcher: H100RunLauncher, source: Path) -> Iterator[Finding]:
    """Wrong config of a nested launcher would show at the first launch only."""
    for route in (tags.GPU, tags.DEFAULT):
        subject = f"launcher of {route} runs"
        try:
            made = launcher.nested(route)
        except Exception as error:  # a launcher's own: its module, its config, its cluster's credentials
            remedy = ".ci/setup engines" if "no run launcher here" in str(error) else f"mend run_launcher in {source}"
            yield fail(subject, f"{source}: {first_line(error)}", remedy)
        else:
            yield ok(subject, type(made).__name__)


def check_policy(
    launcher: H100RunLauncher, source: Path, target: str, listed: Listed = installed_devices
) -> Iterator[Finding]:
    """What a GPU run would be told here. A refusal is a failure only where the default target is a device."""
    if not launcher.looks_here:
        yield ok("device policy", f"{_asked(launcher)}; looked at where a run lands")
        return
    try:
        allowed = launcher.policy.allowed(listed())
    except DeviceRefused as refused:
        if target in HOST_TARGETS:
            yield ok("device policy", f"{_asked(launcher)}; a GPU run would be refused here: {refused}")
        else:
            yield fail("device policy", str(refused), f"policy in {source}, or export TENSOR_ASSETS_TARGET=cpu")
        return
    except TensorAssetsError as error:
        yield fail("device policy", str(error), f"mend the inventory that {source} names")
        return
    yield ok("device policy", f"{_asked(launcher)}; allowed here: {', '.join(map(str, allowed))}")


def check_queue(
    coordinator: RunCoordinator[Any] | None, launcher: H100RunLauncher, source: Path, listed: Listed = installed_devices
) -> Iterator[Finding]:
    """No more GPU runs at once than there are GPUs, times those of one session, which compile beside each other on
    its one GPU; more would wait for each other while holding their processes."""
    limit, of_session = _limit(coordinator, tags.ROUTE, tags.GPU), _limit(coordinator, tags.SESSION, _EACH) or 1
    if limit is None:
        said = "GPU runs are not limited: they start together and wait for each other's GPU"
        yield warn(
            "run queue", said, f"in {source}: run_coordinator of module tensor_assets.launchers, class DeviceQueue"
        )
        return
    try:
        devices = len(launcher.policy.allowed(listed())) if launcher.looks_here else limit
    except TensorAssetsError:
        devices = limit  # told by the policy's own check
    most = devices * of_session
    if limit > most:
        remedy = f"{{key: {tags.ROUTE}, value: {tags.GPU}, limit: {most}}} in {source}"
        yield warn("run queue", f"{limit} GPU runs at once on {devices} devices: some wait while they run", remedy)
        return
    yield ok("run queue", f"{limit} GPU runs at once, {of_session} of one session")


def check_leases() -> Iterator[Finding]:
    """A lease that cannot be read keeps its GPU from every run."""
    for uuid in leased_uuids():
        lease = GpuLease(uuid)
        try:
            state = lease.state()
        except TensorAssetsError as error:
            yield fail("GPU lease", str(error), f"chmod 1777 {lease.folder}")
            continue
        if state.damaged:
            remedy = f"rm {lease.folder / 'session.json'}, once `tensor-assets devices` shows that no run has the GPU"
            yield fail("GPU lease", f"{uuid} is {state}", remedy)
        elif not state.free:
            yield ok("GPU lease", f"{uuid}: {state}")


def _asked(launcher: H100RunLauncher) -> str:
    return f"asks for {' or '.join(launcher.policy.accelerators)}"


def _limit(coordinator: RunCoordinator[Any] | None, key: str, value: Any) -> int | None:
    """How many runs with this tag the queue starts at once; None where it does not count them."""
    if not isinstance(coordinator, QueuedRunCoordinator):
        return None
    limits = coordinator.get_run_queue_config().tag_concurrency_limits or []
    found = [limit["limit"] for limit in limits if (limit["key"], limit.get("value")) == (key, value)]
    return int(found[0]) if found else None
