"""A script that is run leaves nothing behind, however it ends."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec
import psutil
import pytest

from tensor_assets.campaign.reproducing import run_script
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.workers.environments import Environment
from tensor_assets_tests.repro.standalone import case

ENVIRONMENT = Environment(
    python=Path(sys.executable), hash="", lock_sha256="", python_version="", freeze={}, version="", toolchain={}
)
SCRIPT = """
import subprocess, sys, time
child = subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL)
open({pid!r}, "w").write(str(child.pid))
time.sleep({seconds})
sys.exit(3)
"""


@pytest.mark.parametrize(("seconds", "deadline", "code"), [(0, 60.0, 3), (600, 2.0, -1)])
def test_what_a_script_started_ends_with_it(tmp_path: Path, seconds: int, deadline: float, code: int) -> None:
    space = Workspace()
    space.settings = msgspec.structs.replace(space.settings, cache=tmp_path / "cache")
    one = msgspec.structs.replace(case(space, "relu", "eager"), deadline=deadline)
    text = SCRIPT.format(pid=str(tmp_path / "pid"), seconds=seconds)
    assert run_script(space, one, ENVIRONMENT, "script.py", text) == code
    child = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 60
    while _runs(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
