"""PyTorch in eager mode: the adapter's own source."""

from __future__ import annotations

from tensor_worker.program import Program

from tensor_assets.repro.spellings import Spelling, adapter_module
from tensor_assets.repro.spellings.torch_run import BEFORE, SETTINGS, function_text, run_lines
from tensor_assets.workers.adapters import AdapterFolder


def spell(adapter: AdapterFolder, program: Program, variant: str, target: str) -> Spelling:
    source = adapter_module(adapter, "source").write_source(program)
    run = run_lines(program, source.entry, target, "eager mode")
    return Spelling(BEFORE, f"{SETTINGS}\n\n{function_text(source.text)}\n\n{run}")
