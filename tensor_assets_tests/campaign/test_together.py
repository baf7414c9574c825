"""Cells side by side in one process, and what is left of them when it is interrupted."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil
import pytest

from tensor_assets.campaign.capture import capture_cell
from tensor_assets.campaign.environment import environment_record
from tensor_assets.campaign.fixtures import fixture_record
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.together import all_of, side_by_side
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.progress import listening
from tensor_assets.records import CaptureRecord, EnvironmentRecord
from tensor_assets.sessions.lease import Lease
from tensor_assets.workers.process import TOKEN
from tensor_assets_tests.campaign.conftest import add_compiler

SMALL = Options(shape="matrix_inspect")
WORKLOADS = ["gemm", "bias", "relu"]
HANGS = """
    def compile(self, request, inputs, dump_dir):
        import time
        time.sleep(3600)
"""


@pytest.mark.parametrize("together", [1, 2, 8])
def test_every_cell_has_its_result_or_what_kept_it_from_one(space: Workspace, together: int):
    def work(number: int) -> int:
        if number % 3 == 0:
            raise OSError(f"no space for {number}")
        return number * number

    found = dict(side_by_side(space, range(1, 8), work, together))
    assert {number: str(result) for number, result in found.items()} == {
        number: f"no space for {number}" if number % 3 == 0 else str(number * number) for number in range(1, 8)
    }


def test_cells_are_captured_side_by_side_as_they_are_alone(space: Workspace):
    def work(workload: str) -> list[str]:
        return [stored.record.outcome.status for stored in capture_cell(space, workload, "toy", SMALL)]

    alone = {workload: work(workload) for workload in WORKLOADS}
    again = msgspec.structs.replace(SMALL, force=True)
    together = side_by_side(space, WORKLOADS, lambda workload: capture_cell(space, workload, "toy", again), 3)
    assert {key: [one.record.outcome.status for one in made] for key, made in together} == alone


def test_cells_that_begin_together_look_into_their_compilers_environment_once(space: Workspace):
    found = side_by_side(space, range(4), lambda _: environment_record(space, "toy", "cpu").stored.id, 4)
    assert len({result for _, result in found}) == 1
    assert len(list(space.store.entries("environment"))) == 1


def test_an_interrupt_ends_the_workers_and_files_nothing_of_them(space: Workspace, adapters: Path):
    environment_record(space, "toy", "cpu")
    for workload in WORKLOADS:
        fixture_record(space, workload, SMALL.shape)
    source = adapters / "toy" / "adapter.py"
    source.write_text(source.read_text().replace("    def compile(", f"{HANGS}\n    def compiled(", 1))
    hanging = Workspace(space.settings)
    environment_record(hanging, "toy", "cpu")
    threading.Thread(target=interrupted_once_they_work, args=(4,), daemon=True).start()
    options = msgspec.structs.replace(SMALL, target="cpu")
    said: list[str] = []
    with listening(said.append), pytest.raises(KeyboardInterrupt):
        list(side_by_side(hanging, WORKLOADS, lambda workload: capture_cell(hanging, workload, "toy", options), 2))
    assert workers() == []
    assert list(Workspace(space.settings).store.records(CaptureRecord)) == []
    (stopping,) = [step for step in said if step.startswith("stopping: ")]
    assert sorted(stopping.removeprefix("stopping: ").split(";")[0].split(", ")) == WORKLOADS[1::-1]


def test_an_interrupt_is_not_waited_for_by_who_waits_for_this_hosts_lease(space: Workspace):
    """Somebody else's timing may hold it for many minutes."""

    def interrupt_once_they_wait(step: str) -> None:
        with one_at_a_time:
            told = {workload for workload in WORKLOADS if step.startswith(f"capturing {workload} | toy default")}
            if waiting >= told:
                return
            waiting.update(told)
            if len(waiting) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    waiting: set[str] = set()
    one_at_a_time = threading.Lock()
    with (
        Lease().exclusive("timing of somebody else"),
        listening(interrupt_once_they_wait),
        pytest.raises(KeyboardInterrupt),
    ):
        list(side_by_side(space, WORKLOADS, lambda workload: capture_cell(space, workload, "toy", SMALL), 2))
    assert list(space.store.records(CaptureRecord)) == []


def test_an_interrupt_ends_installations_and_says_nothing_of_them(
    space: Workspace, adapters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What came of one that was ended would say that its compiler cannot be installed."""
    endless = tmp_path / "uv"
    endless.write_text("#!/bin/sh\nexec sleep 3600\n")
    endless.chmod(0o755)
    monkeypatch.setattr("uv.find_uv_bin", lambda: str(endless))
    add_compiler(adapters, "other")
    new = Workspace(msgspec.structs.replace(space.settings, cache=tmp_path / "cache"))
    threading.Thread(target=interrupted_once_they_work, args=(1,), daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        all_of(new, ["toy", "other"], lambda compiler: environment_record(new, compiler, "cpu"), 2)
    assert workers() == []
    assert list(space.store.records(EnvironmentRecord)) == []


def test_a_cell_begins_when_the_one_before_it_has_ended_and_waits_for_no_other(space: Workspace):
    """Two at once: the slow first cell ends only once the quick one's two followers have begun."""
    begun: list[str] = []
    quick = threading.Semaphore(0)

    def work(cell: str) -> bool:
        begun.append(cell)
        if cell == "slow":
            return quick.acquire(timeout=60) and quick.acquire(timeout=60)
        if cell in ("quick 1", "quick 2"):
            quick.release()
        return True

    cells = ["slow", "quick", "slow 1", "quick 1", "slow 2", "quick 2"]
    found = all_of(space, cells, work, 2, lambda cell: cell.split()[0] if " " in cell else None)
    assert found == dict.fromkeys(cells, True)
    assert list(found) == cells
    assert set(begun[-2:]) == {"slow 1", "slow 2"}


def test_what_keeps_one_cell_from_being_made_is_raised_and_the_others_are_given_up(space: Workspace):
    begun = threading.Event()

    def work(cell: int) -> None:
        if cell == 0:
            assert begun.wait(60)
            raise OSError("no space")
        begun.set()
        while True:
            space.require_wanted()
            time.sleep(0.01)

    with pytest.raises(OSError, match="no space"):
        all_of(space, range(50), work, 2)


def interrupted_once_they_work(processes: int) -> None:
    """Each worker is two, itself and its supervisor; an installation is one."""
    end = time.monotonic() + 120
    while len(workers()) < processes and time.monotonic() < end:
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)


def workers() -> list[psutil.Process]:
    """Those of this process, with their supervisors."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it is just beginning or ending
            if TOKEN in one.environ():
                found.append(one)
    return found
