"""What shaped a result besides its inputs: the hash of the sources that made it. Change them, and it is made again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tensor_assets.settings import ROOT

# Documentation and bytecode shape nothing.
_SHAPING = {".py", ".json", ".lock", ".rs", ".toml", ".patch"}

KIT = ROOT / "adapters" / "worker" / "tensor_worker"
CONTRACT = ROOT / "tensor_assets" / "contract"
CAPTURE = ROOT / "tensor_assets" / "workers" / "capture.py"
ALTERNATIVES = ROOT / "tensor_assets" / "workers" / "alternatives.py"


@cache
def source_hash(*paths: Path) -> str:
    """SHA-256 over the relative names and bytes of every source file at or below ``paths``, first 16 digits.

    Read once per process, as the sources themselves are: an edit meanwhile belongs to the next one.
    """
    digest = hashlib.sha256()
    for path in paths:
        for file in sorted(_sources(path)):
            digest.update(f"{file.relative_to(path.parent)}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _sources(path: Path) -> Iterable[Path]:
    files = [path] if path.is_file() else path.rglob("*")
    return (file for file in files if file.is_file() and file.suffix in _SHAPING)
