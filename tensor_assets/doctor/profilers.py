"""What profiles are made with: CUPTI for timelines, Nsight for counters, the disassemblers, and the right to count."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tensor_worker.tracing import FOLDER_VARIABLE

from tensor_assets.doctor.findings import Finding, ok, warn
from tensor_assets.sessions.nsight import PERMISSION_REASON
from tensor_assets.settings import Settings
from tensor_assets.workers.adapters import AdapterFolder, discover
from tensor_assets.workers.environments import built_environment, environment_folder

# What is missing without each, and the NVIDIA or PyPI package that brings it.
PROGRAMS = {
    "ncu": ("no counters: profiles have neither roofline nor occupancy measured", "apt-get install nsight-compute"),
    "nsys": ("no Nsight Systems report beside the timeline", "apt-get install nsight-systems-cli"),
    "nvdisasm": ("SASS only where a compiler's environment brings it", "pip install nvidia-cuda-nvdisasm"),
    "cuobjdump": ("registers only where a compiler's environment brings it", "pip install nvidia-cuda-cuobjdump"),
}
PARAMETERS = Path("/proc/driver/nvidia/params")
CAPABILITIES = Path("/proc/self/status")
_CAP_SYS_ADMIN, _CAP_PERFMON = 21, 38  # linux/capability.h


def check_profilers(
    settings: Settings,
    gpu: bool,
    environ: Mapping[str, str] = os.environ,
    which: Callable[[str], str | None] = shutil.which,
) -> Iterator[Finding]:
    """All of it is optional: a profile says what it lacks. Without a GPU nothing is profiled."""
    if not gpu:
        yield ok("profilers", "nothing to profile: this host has no GPU")
        return
    for program, (loss, remedy) in PROGRAMS.items():
        path = which(program)
        yield ok(program, path) if path else warn(program, f"not installed: {loss}", remedy)
    yield check_cupti(settings, environ)
    yield check_counters()


def check_cupti(settings: Settings, environ: Mapping[str, str] = os.environ) -> Finding:
    """In the folder that the variable names, or in every environment that runs on a GPU."""
    remedy = f"pip install --target FOLDER cupti-python==13.0.1 && export {FOLDER_VARIABLE}=FOLDER"
    if folder := environ.get(FOLDER_VARIABLE, ""):
        if (Path(folder) / "cupti").is_dir():
            return ok("CUPTI", f"cupti-python in {folder}")
        return warn("CUPTI", f"{FOLDER_VARIABLE}={folder} holds no cupti: device timelines will be missing", remedy)
    lacking = [adapter.name for adapter in discover(settings.adapters).values() if _lacks(adapter, settings)]
    if lacking:
        return warn("CUPTI", f"no cupti-python for {', '.join(lacking)}: device timelines will be missing", remedy)
    return ok("CUPTI", "cupti-python in every built environment")


def check_counters(parameters: Path = PARAMETERS, status: Path = CAPABILITIES) -> Finding:
    """The driver's own word on who may read counters, and whether this process is one of them."""
    try:
        said = re.search(r"^RmProfilingAdminOnly:\s*(\d+)", parameters.read_text(), re.MULTILINE)
    except OSError:
        said = None
    if said is None:
        return warn(
            "counters", f"{parameters} does not tell who may read them", "tensor-assets campaign --profile gemm"
        )
    if said[1] == "0":
        return ok("counters", "every user may read them (RmProfilingAdminOnly: 0)")
    if _capable(status):
        return ok("counters", "restricted to administrators, and this process is one")
    return warn(
        "counters",
        f"{PERMISSION_REASON} (RmProfilingAdminOnly: {said[1]})",
        "echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | sudo tee /etc/modprobe.d/nvidia-profiling.conf, "
        "then reload the driver; or run as root or with CAP_PERFMON",
    )


def _lacks(adapter: AdapterFolder, settings: Settings) -> bool:
    if "cuda" not in adapter.targets or adapter.worker_variable or settings.packed is not None:
        return False
    freeze = built_environment(environment_folder(adapter, settings.cache / "environments"))
    return freeze is not None and "cupti-python" not in freeze


def _capable(status: Path) -> bool:
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", status.read_text(), re.MULTILINE)
    held = int(found[1], 16) if found else 0
    return bool(held >> _CAP_SYS_ADMIN & 1 or held >> _CAP_PERFMON & 1)
