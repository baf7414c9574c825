"""Programs in each compiler's own API, as text: ``def run(inputs)`` and what it needs, nothing of this project.

The script defines ``INPUTS`` and ``OUTPUTS``, their names in order.

A compiler is spelled by the module of its name here; one without such a module has no standalone scripts.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from typing import Any, NamedTuple

from tensor_worker.program import Program

from tensor_assets.errors import ReproRefused
from tensor_assets.workers.adapters import AdapterFolder


class Spelling(NamedTuple):
    """Python text. ``before`` comes ahead of every import of the compiler; ``run`` defines ``run(inputs)``."""

    before: str
    run: str


def spell(adapter: AdapterFolder, program: Program, variant: str, target: str) -> Spelling:
    """Raises ReproRefused for a compiler, variant or op that has no text of its own."""
    name = f"{__name__}.{adapter.name}"
    if importlib.util.find_spec(name) is None:
        raise ReproRefused(
            f"{adapter.name} has no standalone form: its programs are not made through a Python interface"
        )
    made: Spelling = importlib.import_module(name).spell(adapter, program, variant, target)
    return made


def adapter_module(adapter: AdapterFolder, name: str) -> Any:
    """A module of the adapter's folder that needs no compiler: how it writes source."""
    package = f"tensor_assets_adapter_{adapter.name}"
    if package not in sys.modules:
        made = types.ModuleType(package)
        made.__path__ = [str(adapter.path)]
        sys.modules[package] = made
    return importlib.import_module(f"{package}.{name}")
