"""Scripts of programs whose truth is known, run by hand or by the tests where their compiler is installed.

``python -m tensor_assets_tests.repro.standalone tinygrad tvm`` runs every workload of those compilers.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tensor_assets.campaign.reproducing import run_script
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.contract.fixtures import BuiltFixture, build_fixtures
from tensor_assets.records import Status
from tensor_assets.repro.case import Case
from tensor_assets.repro.cases import known_of
from tensor_assets.repro.script import write_script
from tensor_assets.workers.adapters import AdapterFolder
from tensor_assets.workers.environments import Environment, build_environment

DEADLINE = 300.0


def fixture(space: Workspace, workload: str, shape: str, name: str = "exact-0") -> tuple[msgspec.Struct, BuiltFixture]:
    program = space.workload(workload).program(shape, space.shapes)
    (built,) = build_fixtures(program, [name])
    return program, built


def case(
    space: Workspace,
    workload: str,
    compiler: str,
    *,
    shape: str = "inspect",
    variant: str = "default",
    target: str = "cpu",
    status: Status = "ok",
    name: str = "exact-0",
    reason: str = "",
) -> Case:
    program, built = fixture(space, workload, shape, name)
    stream = f"{workload}/{shape}/{built.name}/{built.seed}"
    return Case(
        adapter=space.adapter(compiler),
        known=known_of(program, built.inputs, built.reference, stream),
        variant=variant,
        target=target,
        status=status,
        reason=reason,
        fixture=built.name,
        packages={"numpy": "2.4.6"},
        deadline=DEADLINE,
    )


def environment_of(space: Workspace, adapter: AdapterFolder) -> Environment:
    found = build_environment(adapter, space.settings, target="cpu")
    assert isinstance(found, Environment), found
    return found


def main(compilers: Sequence[str]) -> None:
    space = Workspace()
    with tempfile.TemporaryDirectory() as folder:
        space.settings = msgspec.structs.replace(space.settings, store=str(Path(folder) / "store"))
        for compiler in compilers:
            name, _, only = compiler.partition(":")
            ready = environment_of(space, space.adapter(name))
            for workload in only.split(",") if only else space.workloads:
                one = case(space, workload, name)
                print(name, workload, run_script(space, one, ready, f"{one.name}.py", write_script(one)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
