"""Scripts where their compilers are: a rejected variant is reduced and reproduces, right cells exit with 0."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from tensor_assets.campaign.options import Options
from tensor_assets.campaign.reproducing import reproduce, run_script
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.repro.case import compare
from tensor_assets.repro.cases import known_of
from tensor_assets.repro.reduction import Sketch, reduce
from tensor_assets.repro.script import write_script
from tensor_assets.repro.trying import Failure, Trier, same
from tensor_assets_tests.repro.standalone import DEADLINE, case, environment_of

pytestmark = pytest.mark.compilers


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """The shared environments, and nothing else that is shared."""
    space = Workspace()
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "environments").symlink_to(space.settings.cache / "environments")
    space.settings = msgspec.structs.replace(space.settings, store=str(tmp_path / "store"), cache=cache)
    return space


def test_a_right_cell_exits_with_0_in_its_compilers_environment(space: Workspace) -> None:
    one = case(space, "weight_view", "eager", shape="matrix_inspect")
    environment = environment_of(space, one.adapter)
    assert run_script(space, one, environment, "script.py", write_script(one)) == 0


def test_a_cell_is_captured_written_run_and_filed(space: Workspace) -> None:
    made = reproduce(space, "weight_view", "tinygrad", Options(target="cpu", shape="matrix_inspect"))
    record = made.stored.record
    assert (made.capture.outcome.status, record.exit_code, record.confirmed, record.trials) == ("ok", 0, True, 0)
    assert space.store.read(record.script).decode() == made.text
    assert record.capture in record.provenance.parents


def test_inductors_addmm_is_reduced_and_reproduced(space: Workspace, tmp_path: Path) -> None:
    one = case(space, "weight_view", "inductor", variant="addmm", shape="matrix_inspect", status="rejected")
    environment = environment_of(space, one.adapter)
    wanted = Failure("rejected", "projection not rounded")
    start = Sketch(space.workload("weight_view"), (8, 16, 24))
    with Trier(
        one.adapter,
        environment,
        "addmm",
        "cpu",
        fixture="exact-0",
        scratch=tmp_path / "trying",
        deadline=DEADLINE,
    ) as trier:
        found = reduce(start, lambda sketch: same(wanted, trier(sketch.program).failure), limit=3)
        tried = trier(found.sketch.program)
    assert same(wanted, tried.failure)
    program = found.sketch.program
    assert [op.op for op in program.ops][-2:] == ["matmul", "add"]
    assert max(max(value.shape) for value in program.inputs) < 16
    assert tried.fixture is not None
    seen = compare(program, tried.fixture.reference, tried.outputs)
    assert seen[0].mismatches
    key = f"weight_view/reduced/{tried.fixture.name}/0"
    smaller = msgspec.structs.replace(
        one, known=known_of(program, tried.fixture.inputs, tried.fixture.reference, key), seen=seen
    )
    assert run_script(space, smaller, environment, "script.py", write_script(smaller)) == 1


def test_the_authored_triton_kernel_is_right_in_tritons_own_interpreter(space: Workspace, tmp_path: Path) -> None:
    """No GPU here: the script's kernel and launch as they are, on the CPU's memory."""
    one = case(space, "weight_view", "triton", shape="matrix_inspect", target="NVIDIA H200")
    environment = environment_of(space, space.adapter("eager"))  # one lock with triton's, and no driver asked for
    text = write_script(one).replace('"cuda"', '"cpu"').replace("    torch.cuda.synchronize()\n", "")
    (tmp_path / "script.py").write_text(text)
    done = subprocess.run(
        [str(environment.python), "script.py"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "TRITON_INTERPRET": "1", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
