"""`tensor-assets devices`: the GPUs of this host and which session has each of them."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from tensor_assets.errors import DeviceRefused
from tensor_assets.sessions.gpu_lease import GpuLease, leased_uuids
from tensor_assets.sessions.inventory import installed_devices
from tensor_assets.sessions.nvml import Installed


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of lines.")
def devices(as_json: bool) -> None:
    """List this host's GPUs, each with the session that has it; a lease whose GPU is gone is listed too."""
    absent = ""
    try:
        found = installed_devices()
    except DeviceRefused as refused:
        found, absent = (), str(refused)
    gone = [uuid for uuid in leased_uuids() if uuid not in {device.uuid for device in found}]
    if as_json:
        told = [_described(device) for device in found] + [{"uuid": uuid, "lease": _lease(uuid)} for uuid in gone]
        click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())
        return
    for device in found:
        memory = f"{device.memory_bytes / (1 << 30):.0f} GiB"
        click.echo(f"{device}  driver {device.driver}  {memory}  {GpuLease(device.uuid).state()}")
    for uuid in gone:
        click.echo(f"{uuid} is not there any more  {GpuLease(uuid).state()}")
    if absent:
        click.echo(absent)


def _described(device: Installed) -> dict[str, Any]:
    return {**msgspec.structs.asdict(device), "lease": _lease(device.uuid)}


def _lease(uuid: str) -> dict[str, Any]:
    state = GpuLease(uuid).state()
    return {**msgspec.structs.asdict(state), "free": state.free}
