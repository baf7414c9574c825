"""From a policy to one GPU: chosen when a run is launched, or where it lands, and held while it runs."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import msgspec
from dagster import DagsterInstance, DagsterRun, RunsFilter

from tensor_assets.errors import AllocationMismatch, DeviceRefused
from tensor_assets.launchers import tags
from tensor_assets.launchers.policy import DevicePolicy
from tensor_assets.progress import announce
from tensor_assets.sessions.allocation import device_boot_id
from tensor_assets.sessions.gpu_lease import GpuLease
from tensor_assets.sessions.inventory import installed_devices
from tensor_assets.sessions.nvml import Installed


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU for one session."""

    session: str
    uuid: str
    name: str
    boot: str
    host: str

    def tags(self, run: str) -> dict[str, str]:
        """As the run's tags carry it."""
        return {
            tags.RUN: run,
            tags.SESSION: self.session,
            tags.BOUND: self.session,
            tags.DEVICE: self.uuid,
            tags.DEVICE_NAME: self.name,
            tags.BOOT: self.boot,
            tags.HOST: self.host,
        }

    @classmethod
    def read(cls, run_tags: Mapping[str, str]) -> Grant | None:
        if not run_tags.get(tags.DEVICE):
            return None
        return cls(
            session=run_tags.get(tags.BOUND, ""),
            uuid=run_tags[tags.DEVICE],
            name=run_tags.get(tags.DEVICE_NAME, ""),
            boot=run_tags.get(tags.BOOT, ""),
            host=run_tags.get(tags.HOST, ""),
        )


def bound(instance: DagsterInstance, session: str) -> Grant | None:
    """What earlier runs of the session were granted; every later one gets the same or nothing."""
    found = instance.get_runs(filters=RunsFilter(tags={tags.BOUND: session}), limit=1, ascending=True)
    return Grant.read(tags.own(found[0])) if found else None


def grant(instance: DagsterInstance, run: DagsterRun, policy: DevicePolicy) -> Grant:
    """Choose a GPU of this host for the run, reserve it and write it on the run.

    A GPU that another session has is taken only where there is no other one: the run then waits for it. Raises
    DeviceRefused, AllocationMismatch, LeaseDamaged.
    """
    session = tags.session_of(run)
    earlier = bound(instance, session)
    found = installed_devices()
    allowed = policy.allowed(found)
    if earlier is not None:
        device = _again(earlier, allowed, found)
        GpuLease(device.uuid).reserve(session, run.run_id)
    else:
        device = _reserved(_idle(allowed, policy), session, run.run_id)
    made = Grant(
        session=session,
        uuid=device.uuid,
        name=device.name,
        boot=device_boot_id(device.simulated),
        host=socket.gethostname(),
    )
    instance.add_run_tags(run.run_id, made.tags(run.run_id))
    return made


@contextmanager
def claimed(made: Grant, run: str, policy: DevicePolicy, tell: Callable[[str], None] = announce) -> Iterator[None]:
    """Hold what was granted, workers seeing no other GPU meanwhile. The device is looked at again first.

    Raises DeviceRefused if it is gone or no longer what the policy asks for, AllocationMismatch after a restart.
    """
    with ExitStack() as stack:
        stack.enter_context(GpuLease(made.uuid).held(made.session, run, f"run {run}", tell))
        require_unchanged(made, policy)
        stack.enter_context(_only_visible(made.uuid))
        yield


def require_unchanged(made: Grant, policy: DevicePolicy) -> Installed:
    """The granted device as it is now. Raises DeviceRefused, AllocationMismatch."""
    found = installed_devices()
    if made.host != socket.gethostname():
        raise AllocationMismatch(
            f"session {made.session} has {made.name} ({made.uuid}) on {made.host}; this run landed on "
            f"{socket.gethostname()}: pin the session to one node, or start a new session"
        )
    device = next((device for device in found if device.uuid == made.uuid), None)
    if device is None:
        raise DeviceRefused(
            f"{made.name} ({made.uuid}), granted to session {made.session}, is gone; this host has "
            f"{', '.join(map(str, found)) or 'no GPU'}. Start a new session once the device is back"
        )
    boot = device_boot_id(device.simulated)
    if boot != made.boot:
        raise AllocationMismatch(
            f"session {made.session} began on {made.name} ({made.uuid}) before this host restarted (boot "
            f"{made.boot[:8]}, now {boot[:8]}): a session is never resumed on another allocation, start a new one"
        )
    if objection := policy.objection(device):
        raise DeviceRefused(f"{device}, granted to session {made.session}, now {objection}")
    return device


def _again(earlier: Grant, allowed: Sequence[Installed], found: Sequence[Installed]) -> Installed:
    device = next((device for device in allowed if device.uuid == earlier.uuid), None)
    if device is None:
        raise DeviceRefused(
            f"session {earlier.session} runs on {earlier.name} ({earlier.uuid}) and on nothing else; this host now has "
            f"{', '.join(map(str, found)) or 'no GPU'}. Start a new session to use another device"
        )
    boot = device_boot_id(device.simulated)
    if (earlier.host, earlier.boot) != (socket.gethostname(), boot):
        raise AllocationMismatch(
            f"session {earlier.session} began on {earlier.name} ({earlier.uuid}) of {earlier.host} under boot "
            f"{earlier.boot[:8]}; this is {socket.gethostname()} under boot {boot[:8]}: a session is never resumed on "
            f"another allocation, start a new one"
        )
    return device


def _idle(allowed: Sequence[Installed], policy: DevicePolicy) -> Sequence[Installed]:
    """Where the policy wants one to itself: those that nobody computes on who does not hold their lease."""
    if not policy.exclusive:
        return allowed
    idle = [device for device in allowed if not device.tenants or not GpuLease(device.uuid).state().free]
    if not idle:
        busy = "; ".join(f"{device} has {device.tenants} processes" for device in allowed)
        raise DeviceRefused(f"policy asks for a GPU of one's own: {busy}. Wait for them, or set exclusive: false")
    return idle


def _reserved(candidates: Sequence[Installed], session: str, run: str) -> Installed:
    """The session's own if it has one, else the first that can be had now, else the first."""
    ordered = sorted(candidates, key=lambda device: not _is_of(device, session))
    for device in ordered:
        if GpuLease(device.uuid).reserve(session, run):
            return device
    return ordered[0]


def _is_of(device: Installed, session: str) -> bool:
    now = GpuLease(device.uuid).state()
    return now.session is not None and now.session.name == session


@contextmanager
def _only_visible(uuid: str) -> Iterator[None]:
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = uuid
    try:
        yield
    finally:
        if before is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = before
