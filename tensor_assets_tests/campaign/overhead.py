"""What Dagster adds to a cell: ``python -m tensor_assets_tests.campaign.overhead`` prints both ways, in one run.

The same captures of a toy compiler, by calling the steps from a plain script and as a Dagster run each, in turns.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich.console import Console

from tensor_assets.campaign.capture import capture_cell
from tensor_assets.campaign.environment import environment_record
from tensor_assets.campaign.fixtures import fixture_record
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.commands.instance import dagster_home
from tensor_assets.commands.request import Request
from tensor_assets.settings import load_settings
from tensor_assets_tests.campaign.conftest import add_compiler

SHAPE = "matrix_inspect"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        space = _space(Path(folder))
        # The code location reads its settings where it is imported, so they must be in the environment by then.
        from tensor_assets.commands.materialize import Runner
        from tensor_assets.partitions import Cell

        request = Request(workloads=tuple(space.workloads), compilers=("toy",), target="cpu", shape=SHAPE, force=True)
        runner, options = Runner(space, request), Options(shape=SHAPE, force=True)
        plain: list[float] = []
        orchestrated: list[float] = []
        for workload in space.workloads:
            fixture_record(space, workload, SHAPE)
            cell = Cell(workload, "toy")
            with _timed(plain):
                capture_cell(space, workload, "toy", options)
            with _timed(orchestrated):
                runner.run(("semantic_ir", "selected_plan"), cell.partition, cell.title, {"capture": runner.cell()})
    ratios = np.array(orchestrated) / np.array(plain)
    Console().print(
        f"{len(plain)} cells of two variants: {np.median(plain):.2f} s a cell as a plain script, "
        f"{np.median(orchestrated):.2f} s as a Dagster run (median of ratios {np.median(ratios):.2f})"
    )


def _space(folder: Path) -> Workspace:
    add_compiler(folder / "adapters", "toy")
    os.environ |= {
        "DAGSTER_HOME": str(folder / "home"),
        "TENSOR_ASSETS_STORE": str(folder / "store"),
        "TENSOR_ASSETS_ADAPTERS": str(folder / "adapters"),
        "TENSOR_ASSETS_LEASE": str(folder / "lease"),
    }
    space = Workspace(load_settings())
    dagster_home(space.settings)
    environment_record(space, "toy", "cpu")
    return space


@contextmanager
def _timed(seconds: list[float]) -> Iterator[None]:
    started = time.monotonic()
    yield
    seconds.append(time.monotonic() - started)


if __name__ == "__main__":
    main()
