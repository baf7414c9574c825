"""What a script says and draws: the recorded inputs, element for element, and what they must give."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.contract.arrays import hash_arrays
from tensor_assets.errors import ReproRefused
from tensor_assets.repro.case import Seen
from tensor_assets.repro.cases import known_of
from tensor_assets.repro.script import write_script
from tensor_assets_tests.repro.standalone import case, fixture

SPACE = Workspace()
COMPILERS = ("tinygrad", "tvm", "max", "inductor", "eager")


def executed(text: str, folder: Path, *, run: str) -> subprocess.CompletedProcess[str]:
    """The script with another ``run``, in a Python that has NumPy and no compiler."""
    head, _, rest = text.partition("\ntry:\n")
    body = head + "\n" + run + "\n\n" + rest[rest.index("def main()") :]
    path = folder / "script.py"
    path.write_text(body)
    return subprocess.run([sys.executable, "-I", str(path)], capture_output=True, text=True, timeout=120, check=False)


RIGHT = "def run(inputs):\n    return known()[1]"
WRONG = """
def run(inputs):
    outputs = {name: array.copy() for name, array in known()[1].items()}
    outputs[OUTPUTS[0]].flat[0] += 1
    return outputs
"""
SIGNS = """
def run(inputs):
    return {name: np.where(a == 0, -0.0, a).astype(a.dtype) for name, a in known()[1].items()}
"""


@pytest.mark.parametrize("workload", ["weight_view", "residual", "projection_chain", "softmax", "norm_projection"])
def test_a_right_answer_exits_with_0_and_one_wrong_element_with_1(workload: str, tmp_path: Path) -> None:
    text = write_script(case(SPACE, workload, "eager"))
    right = executed(text, tmp_path, run=RIGHT)
    assert (right.returncode, right.stdout.splitlines()[-1]) == (0, "right"), right.stderr
    wrong = executed(text, tmp_path, run=WRONG)
    assert (wrong.returncode, wrong.stdout.splitlines()[-1]) == (1, "reproduced"), wrong.stderr
    assert executed(text, tmp_path, run=SIGNS).returncode == 0


@pytest.mark.parametrize("name", ["exact-0", "exact-11x3", "exact-3x11", "exact-sparse", "exact-large"])
@pytest.mark.parametrize("workload", ["weight_view", "residual", "output_scale"])
def test_the_lines_of_numpy_give_the_fixtures_own_bytes(workload: str, name: str) -> None:
    program, built = fixture(SPACE, workload, "matrix_inspect", name)
    known = known_of(program, built.inputs, built.reference, f"{workload}/matrix_inspect/{name}/0")
    text = write_script(case(SPACE, workload, "eager", shape="matrix_inspect", name=name))
    names: dict[str, object] = {"__name__": "script"}
    exec(compile(text.partition("try:\n")[0], "script.py", "exec"), names)
    inputs, expected = names["known"]()
    assert hash_arrays({**inputs, **expected}) == built.hashes
    assert all(array.flags.c_contiguous for array in inputs.values())
    assert known.rows == 0


def test_a_large_fixture_is_drawn_and_not_carried() -> None:
    text = write_script(case(SPACE, "weight_view", "tinygrad", shape="matrix"))
    assert "unpacked(" not in text
    assert len(text) < 10_000


def test_rows_that_were_chosen_are_carried_and_cut_to_fit() -> None:
    program, built = fixture(SPACE, "rmsnorm", "screen")
    known = known_of(program, built.inputs, built.reference, "rmsnorm/screen/exact-0/0")
    assert "unpacked(" in "\n".join(known.lines)
    wide = np.broadcast_to(built.inputs["x"], built.inputs["x"].shape)
    assert known.program.value("x").shape[0] in (wide.shape[0], known.rows)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("workload", SPACE.workloads)
def test_every_script_is_python_without_anything_of_ours(compiler: str, workload: str) -> None:
    text = write_script(case(SPACE, workload, compiler))
    modules = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add((node.module or "").partition(".")[0])
    assert not {name for name in modules if name.startswith("tensor_")}
    assert modules <= {*sys.stdlib_module_names, "numpy", "tinygrad", "tvm", "max", "torch", "triton"}


def test_what_was_seen_and_where_it_was_seen_is_told() -> None:
    one = case(SPACE, "weight_view", "inductor", variant="addmm", status="rejected")
    seen = (Seen(output="y", elements=128, mismatches=37),)
    one = msgspec.structs.replace(one, seen=seen, boundary="projection not rounded", python="3.11.7", record="ab" * 32)
    text = write_script(one)
    for words in ("projection not rounded", "37 of 128 elements of y differ", "pip install numpy==2.4.6", "ab" * 32):
        assert words in text


@pytest.mark.parametrize(("status", "run"), [("crashed", "import os; os.abort()"), ("censored", "while True: pass")])
def test_an_end_that_is_no_number_is_reproduced_in_a_process_of_its_own(status: str, run: str, tmp_path: Path) -> None:
    text = write_script(msgspec.structs.replace(case(SPACE, "gemm", "eager", status=status), deadline=5.0))
    assert executed(text, tmp_path, run=f"def run(inputs):\n    {run}").returncode == 1
    assert executed(text, tmp_path, run="def run(inputs):\n    return {}").returncode == 0


RAISES = "def run(inputs):\n    raise RuntimeError('no device')"


@pytest.mark.parametrize("status", ["ok", "rejected"])
def test_a_failure_of_another_kind_is_not_taken_for_the_wrong_numbers(status: str, tmp_path: Path) -> None:
    text = write_script(case(SPACE, "gemm", "eager", status=status))
    ended = executed(text, tmp_path, run=RAISES)
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (3, "RuntimeError: no device")


def test_a_compiler_that_breaks_as_it_is_loaded_is_a_failure_of_another_kind_too(tmp_path: Path) -> None:
    text = write_script(case(SPACE, "gemm", "eager", status="rejected"))
    assert executed(text, tmp_path, run=f"{RIGHT}\n\n\nraise RuntimeError('no driver')").returncode == 3


@pytest.mark.parametrize("status", ["crashed", "unsupported", "censored"])
def test_where_there_is_no_device_nothing_is_reproduced(status: str, tmp_path: Path) -> None:
    text = write_script(case(SPACE, "gemm", "eager", status=status, target="NVIDIA H200"))
    for here, code in ((False, 2), (True, 3 if status == "censored" else 1)):
        run = f"{RAISES}\n\n\ndef device_here():\n    return {here}"
        ended = executed(text, tmp_path, run=run)
        assert ended.returncode == code, ended.stdout + ended.stderr
        assert ("there is no CUDA device" in ended.stdout) == (not here)


def test_what_has_no_standalone_form_is_refused_with_the_reason() -> None:
    with pytest.raises(ReproRefused, match="luminal"):
        write_script(case(SPACE, "gemm", "luminal"))
    with pytest.raises(ReproRefused, match="run on a GPU"):
        write_script(case(SPACE, "gemm", "triton"))
    assert "tl.dot" in write_script(case(SPACE, "gemm", "triton", target="NVIDIA H200"))
    with pytest.raises(ReproRefused, match="'nope'"):
        write_script(case(SPACE, "gemm", "inductor", variant="nope"))
