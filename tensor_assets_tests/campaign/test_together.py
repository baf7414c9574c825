"""Cells side by side in one process, and what is left of them when it is interrupted."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import msgspec
import psutil
import pytest

from tensor_assets.campaign.capture import capture_cell
from tensor_assets.campaign.environment import environment_record
from tensor_assets.campaign.fixtures import fixture_record
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.together import side_by_side
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.records import CaptureRecord
from tensor_assets.workers.process import TOKEN

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
    threading.Thread(target=interrupted_once_two_work, daemon=True).start()
    options = msgspec.structs.replace(SMALL, target="cpu")
    with pytest.raises(KeyboardInterrupt):
        list(side_by_side(hanging, WORKLOADS, lambda workload: capture_cell(hanging, workload, "toy", options), 2))
    assert workers() == []
    assert list(Workspace(space.settings).store.records(CaptureRecord)) == []


def interrupted_once_two_work() -> None:
    end = time.monotonic() + 120
    while len(workers()) < 4 and time.monotonic() < end:  # each is a supervisor and its worker
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)


def workers() -> list[psutil.Process]:
    """Those of this process, with their supervisors."""
    return [one for one in psutil.Process().children(recursive=True) if TOKEN in one.environ()]
