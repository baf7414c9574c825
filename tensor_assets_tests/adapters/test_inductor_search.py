"""What Inductor tells of its search: its tables, and what it noted by the time it ended or was killed."""

from __future__ import annotations

import os
import subprocess
import types
from collections import Counter
from pathlib import Path

import pytest
from tensor_worker.candidates import read_candidates, read_untimed

from tensor_assets.settings import load_settings
from tensor_assets.workers.adapters import discover
from tensor_assets.workers.environments import build_environment
from tensor_assets_tests.adapters.test_inductor import FOLDER, module, output_code


class TestTables:
    """Autotuning tables, with choices as Inductor describes them."""

    @staticmethod
    def template(name: str, tile: str, warps: int = 4):
        details = {"backend": "Triton", "tile_shape": tile, "num_stages": 3, "num_warps": warps, "GROUP_M": 8}
        return types.SimpleNamespace(name=name, info_dict=lambda: details)

    @pytest.fixture
    def choices(self):
        library = types.SimpleNamespace(
            name="mm", info_dict=lambda: {"backend": "extern", "kernel_call_name": "extern_kernels.mm"}
        )
        return library, self.template("triton_mm_1", "(128, 32, 64)"), self.template("triton_mm_2", "(64, 64, 64)")

    @pytest.fixture
    def recording(self, tmp_path):
        return module("recording").Recording(tmp_path)

    def table(self, recording, choices):
        pairs = list(zip(choices, (0.01, 0.02, float("inf")), strict=True))
        timings = types.SimpleNamespace(items=lambda: pairs)  # a choice is hashable in Inductor, here it is not
        nodes = [types.SimpleNamespace(get_size=lambda: [1024, 768])]
        recording._keep_table(timings, "mm", nodes, choices, None, None)
        return recording.tables[0].choices

    def test_a_row_has_its_time_or_why_it_has_none(self, recording, choices):
        rows = [row.candidate("mm") for row in self.table(recording, choices)]
        assert [row.measured_ns for row in rows] == [10_000, 20_000, None]
        assert [row.refused for row in rows] == ["slower", "slower", "did not compile or run"]
        assert rows[1].parameters["BLOCK_N"] == 64
        assert rows[1].parameters["BLOCK_K"] == 32

    def test_what_a_benchmark_raises_is_kept_and_raised_again(self, recording, choices, tmp_path):
        def benchmark(cls, choice, arguments):
            raise RuntimeError("out of resource:\n shared memory")

        with pytest.raises(RuntimeError):
            recording._observed(benchmark)(None, choices[2], None)
        (noted,) = read_candidates(tmp_path)
        assert (noted.name, noted.refused) == ("triton_mm_2", "out of resource: shared memory")
        assert self.table(recording, choices)[2].refusal == "out of resource: shared memory"

    def test_choices_wait_from_before_they_are_compiled_until_they_are_tried(self, recording, choices, tmp_path):
        def waiting():
            return [candidate.name for candidate in read_untimed(tmp_path)]

        def tried():
            return [(candidate.name, candidate.measured_ns) for candidate in read_candidates(tmp_path)]

        def beaten():
            return {candidate.refused for candidate in read_candidates(tmp_path) if candidate.measured_ns} - {""}

        offered = list(choices)
        assert recording._generated(offered) is offered
        assert (waiting(), tried()) == (["mm", "triton_mm_1", "triton_mm_2"], [])
        recording._failing(lambda choice: None)(choices[2])  # Inductor says so of what did not compile
        recording._observed(lambda cls, choice: 0.02)(None, choices[1])
        assert (waiting(), tried()) == (["mm"], [("triton_mm_2", None), ("triton_mm_1", 20_000)])
        self.table(recording, choices)  # the library call was timed before, for a contraction of the same shape
        assert (waiting(), tried()[2:]) == ([], [("mm", 10_000)])
        assert beaten() == set()
        assert not recording.waiting

    def test_one_choice_alone_is_no_search(self, recording, choices, tmp_path):
        assert recording._generated([choices[0]]) == [choices[0]]
        assert read_untimed(tmp_path) == ()

    def test_the_chosen_one_is_the_one_in_the_output_code(self, recording, choices):
        rows = self.table(recording, choices)
        search = module("search")
        tuned = types.SimpleNamespace(output=output_code("weight_view.tuned"))
        untuned = types.SimpleNamespace(output=output_code("residual_relu.default"))
        assert [search._is_chosen(tuned, row) for row in rows] == [False, True, False]
        assert [search._is_chosen(untuned, row) for row in rows] == [True, False, False]


def searched(folder: Path, timed: int) -> int:
    settings = load_settings()
    environment = build_environment(discover(settings.adapters)["inductor"], settings)
    script = Path(__file__).with_name("search_inductor.py")
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(FOLDER.parent / "worker")}
    return subprocess.run(
        [str(environment.python), str(script), str(FOLDER), str(folder), str(timed)],
        env=variables | {"TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"},
        cwd=folder,
        timeout=600,
    ).returncode


def kind(name: str) -> str:
    """Inductor's matrix template for this CPU, numbered, or the library's implementation."""
    return "template" if name.startswith("cpp_") else name


@pytest.mark.compilers
def test_a_killed_search_leaves_what_it_timed_and_what_was_waiting(tmp_path):
    assert searched(tmp_path, timed=1) == -9
    (tried,), (waiting,) = read_candidates(tmp_path), read_untimed(tmp_path)
    assert tried.measured_ns
    assert waiting.measured_ns is None
    assert {kind(tried.name), kind(waiting.name)} == {"template", "_mkl_linear"}


@pytest.mark.compilers
def test_a_search_that_ends_by_itself_leaves_nothing_waiting(tmp_path):
    assert searched(tmp_path, timed=4) == 0
    tried = read_candidates(tmp_path)
    assert Counter(kind(one.name) for one in tried) == {"template": 2, "_mkl_linear": 2}
    assert all(one.measured_ns for one in tried)
    assert read_untimed(tmp_path) == ()
