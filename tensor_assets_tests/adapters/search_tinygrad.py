"""Run by the tests in tinygrad's environment: a beam whose candidates are compiled beside it.

Arguments: the adapter's folder, seconds for the search. On the CPU device, and once more for sm_90 as far as that goes
without one: compiling. Prints as JSON what the watch told, how many candidates it had noted meanwhile as tried and how
many as waiting, which of a round compiled for sm_90, and how many processes a compile for a device asks for, without a
beam and with one.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import types
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER, SECONDS = sys.argv[1], float(sys.argv[2])
os.environ["CACHEDB"] = str(Path(tempfile.mkdtemp()) / "cache.db")  # else a second search finds what the first chose
package = sys.modules.setdefault("tinygrad_adapter", types.ModuleType("tinygrad_adapter"))
package.__path__ = [FOLDER]
import_module("tinygrad_adapter.toolchain").prepare("cpu")

compiling: Any = import_module("tinygrad_adapter.compiling")
beside: Any = import_module("tinygrad_adapter.beside")
kernels: Any = import_module("tinygrad_adapter.kernels")
search: Any = import_module("tinygrad_adapter.search")

from tensor_worker.candidates import read_candidates, read_untimed  # noqa: E402
from tinygrad import Tensor, dtypes  # noqa: E402
from tinygrad.codegen.opt import search as beam  # noqa: E402
from tinygrad.codegen.opt.postrange import Scheduler  # noqa: E402
from tinygrad.helpers import Target  # noqa: E402
from tinygrad.renderer.cstyle import CUDARenderer  # noqa: E402


def product(device: str) -> Any:
    left, right = (Tensor.empty(64, 64, dtype=dtypes.float16, device=device) for _ in range(2))
    return kernels.schedule({"y": left.matmul(right, dtype=dtypes.float32)})


def searched() -> tuple[Any, int, int]:
    dump = Path(tempfile.mkdtemp())
    watch = search.BeamWatch(dump, seconds=SECONDS, processes=2)
    with watch.watching():
        kernels.compile_for_device(product("CPU"), beam=2)
    return watch.search(), len(read_candidates(dump)), len(read_untimed(dump))


def compiled_for_sm_90() -> list[bool]:
    (call,) = product("CUDA").src
    start = Scheduler(call.src[0], CUDARenderer(Target("CUDA", "CUDA", "sm_90")))
    start.convert_loop_to_global()
    round_of_it = list(enumerate(beam.get_kernel_actions(start, include_0=False).values()))[:8]
    with beside.processes_beside(2) as pool:
        return [program is not None for _, program in pool.imap_unordered(beam._try_compile, round_of_it)]


def beside_a_compile(beam: int) -> int:
    """As far as the watch that it begins with."""
    asked: list[int] = []

    def watch(_dump: Path, processes: int) -> None:
        asked.append(processes)
        raise InterruptedError

    compiling.BeamWatch = watch
    with suppress(InterruptedError):
        compiling.lower_and_compile(types.SimpleNamespace(target="cuda"), beam)
    return asked[0]


def main() -> None:
    told, noted, waiting = searched()
    found = {
        "scope": told.scope,
        "tried": told.tried,
        "timed": sum(one.measured_ns is not None for one in told.candidates),
        "chosen": sum(one.chosen for one in told.candidates),
        "candidates": len(told.candidates),
        "untimed": told.untimed,
        "noted": noted,
        "waiting": waiting,
        "censored": told.censored,
        "beside": [beside_a_compile(beam) for beam in (0, 2)],
        "compiled for sm_90": compiled_for_sm_90() if SECONDS > 1 else [],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
