"""Run by the tests in Inductor's environment: a real search on a CPU, killed before it times another choice.

Arguments: the adapter's folder, the dump directory, how many choices are timed before the kill. Two linear layers of
one shape with frozen weights, which Inductor has a matrix template for on a CPU: two contractions of two choices each,
and the times of the first are those of the second.
"""

from __future__ import annotations

import os
import signal
import sys
import types
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch._inductor import config
from torch._inductor.select_algorithm import AlgorithmSelectorCache
from torch._inductor.utils import fresh_cache

package = sys.modules.setdefault("inductor_adapter", types.ModuleType("inductor_adapter"))
package.__path__ = [sys.argv[1]]
recording: Any = import_module("inductor_adapter.recording").Recording(Path(sys.argv[2]))

LAYERS = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.Linear(128, 128)).eval()
left, benchmark = int(sys.argv[3]), AlgorithmSelectorCache.__dict__["benchmark_choice"].__func__


def killed_in_the_end(cls: Any, *arguments: Any) -> float:
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return float(benchmark(cls, *arguments))


AlgorithmSelectorCache.benchmark_choice = classmethod(killed_in_the_end)
SEARCHED = {"freezing": True, "max_autotune": True, "max_autotune_gemm_backends": "ATEN,CPP"}
with config.patch(SEARCHED), torch.no_grad(), fresh_cache(), recording.tables_kept():
    torch.compile(LAYERS)(torch.randn(64, 128))
