"""What this room needs of the evidence store."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tensor_assets.records import Evidence


class Keeper(Protocol):
    """Keeps bytes as evidence; ``evidence.store.EvidenceStore`` does."""

    def put_bytes(self, data: bytes, media_type: str, name: str, private: bool = False) -> Evidence: ...

    def put_file(self, path: Path, media_type: str, name: str, private: bool = False) -> Evidence: ...
