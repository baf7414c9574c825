"""What one compilation left to look at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tensor_worker.artifacts import Search
from tensor_worker.program import Program

from .authoring import Authored
from .compiling import Built


@dataclass(frozen=True)
class Evidence:
    program: Program
    source: Authored
    built: tuple[Built, ...]  # in launch order
    dump_dir: Path
    search: Search | None = None
