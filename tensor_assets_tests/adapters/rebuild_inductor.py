"""Run by the tests in Inductor's environment: a real search on a CPU, and each of its choices built again.

Argument: the adapter's folder. A linear layer with a frozen weight is what Inductor has a matrix template for on a CPU.
Prints [[choice, how it was built again, tables made meanwhile, equal results], …] as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import types
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch._inductor import config
from torch._inductor.utils import fresh_cache, run_and_get_code

package = sys.modules.setdefault("inductor_adapter", types.ModuleType("inductor_adapter"))
package.__path__ = [sys.argv[1]]
Recording: Any = import_module("inductor_adapter.recording").Recording
rebuilding: Any = import_module("inductor_adapter.rebuilding").rebuilding

LAYER, ROWS = torch.nn.Linear(256, 128).eval(), torch.randn(64, 256)


def built(candidate: Any = None) -> tuple[Any, str, torch.Tensor]:
    torch._dynamo.reset()
    recording = Recording(Path(tempfile.mkdtemp()))
    only: AbstractContextManager[None] = rebuilding(candidate, recording.row) if candidate else nullcontext()
    with torch.no_grad(), fresh_cache(), recording.tables_kept(), only:
        result, (code,) = run_and_get_code(torch.compile(LAYER), ROWS)
    return recording, "template" if "micro_gemm" in code else "library", result


def main() -> None:
    searched, _, right = built()
    found = []
    for choice in searched.tables[0].choices:
        recording, form, result = built(choice.candidate("packed_linear"))
        found.append([choice.name, form, len(recording.tables), torch.allclose(result, right, atol=1e-4)])
    print(json.dumps(found))


with config.patch(freezing=True, max_autotune=True, max_autotune_gemm_backends="ATEN,CPP"):
    main()
