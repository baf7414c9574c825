"""Inductor: the adapter's own source under ``torch.compile`` with the variant's own options."""

from __future__ import annotations

from tensor_worker.program import Program

from tensor_assets.errors import ReproRefused
from tensor_assets.repro.spellings import Spelling, adapter_module
from tensor_assets.repro.spellings.torch_run import BEFORE, SETTINGS, function_text, run_lines
from tensor_assets.workers.adapters import AdapterFolder


def spell(adapter: AdapterFolder, program: Program, variant: str, target: str) -> Spelling:
    configurations = adapter_module(adapter, "variants").CONFIGURATIONS
    if variant not in configurations:
        raise ReproRefused(f"inductor has no variant {variant!r} (have: {', '.join(configurations)})")
    configuration = configurations[variant]
    source = adapter_module(adapter, "source").write_source(program, configuration.form)
    compiled = f"""\
compiled = torch.compile({source.entry}, backend="inductor", fullgraph=True, dynamic=False,
                         options={configuration.options!r})
"""
    run = run_lines(program, "compiled", target, "Inductor")
    return Spelling(BEFORE, f"{SETTINGS}\n\n{function_text(source.text)}\n\n{compiled}\n\n{run}")
