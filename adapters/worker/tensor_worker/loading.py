"""Loads an adapter folder as the package ``tensor_adapter``, so that its modules import each other relatively."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

from tensor_worker.adapter import Adapter

PACKAGE = "tensor_adapter"


def load_adapter(folder: Path) -> Adapter:
    """An instance of ``ADAPTER`` of ``folder/adapter.py``. Raises whatever its import raises, or TypeError."""
    package = types.ModuleType(PACKAGE)
    package.__path__ = [str(folder.resolve())]
    sys.modules[PACKAGE] = package
    module = importlib.import_module(f"{PACKAGE}.adapter")
    adapter = getattr(module, "ADAPTER", None)
    if not (isinstance(adapter, type) and issubclass(adapter, Adapter)):
        raise TypeError(f"{folder.name}/adapter.py has no ADAPTER that is a subclass of tensor_worker.adapter.Adapter")
    return adapter()
