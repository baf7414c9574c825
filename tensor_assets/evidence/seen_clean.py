"""What was read through and found clean stays clean: noted by hash, so that a report does not read it all again.

A note holds for the content, the rules, the words of this host and account, and the reader of arrays: each is part of
what it is filed under, so that a change of any of them begins anew. Only what was clean is noted. What decides about
publication (``publishing/scan.py``) takes no notes into account.
"""

from __future__ import annotations

import hashlib
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import msgspec
import numpy as np

from tensor_assets.contract import arrays
from tensor_assets.evidence import already_public, media, redaction, rules, spelled
from tensor_assets.evidence.files import unwritable
from tensor_assets.evidence.identity import Identity
from tensor_assets.records import Evidence

_DECIDING: tuple[ModuleType, ...] = (rules, redaction, spelled, already_public, media, arrays)


class SeenClean:
    """Notes in ``folder``, which is a cache: whoever may write there may also change what this program runs."""

    def __init__(self, folder: Path, identity: Identity) -> None:
        self._file = folder / f"{_rules_hash(identity)}.txt"
        self._noted: set[str] | None = None

    def __contains__(self, evidence: Evidence) -> bool:
        if self._noted is None:
            self._noted = set(self._file.read_text().splitlines()) if self._file.is_file() else set()
        return _line(evidence) in self._noted

    def note(self, evidence: Evidence) -> None:
        """One short append, so that several reports may note at once; a line that was cut short says nothing."""
        with unwritable(f"cache {self._file.parent}", "set TENSOR_ASSETS_CACHE to another place"):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a") as file:
                file.write(f"\n{_line(evidence)}\n")


def _line(evidence: Evidence) -> str:
    """All that a look depends on of ``evidence`` itself: a type is looked at as text, or as arrays."""
    kind = "arrays" if evidence.media_type == media.ARRAYS else "text"
    return f"{kind} {evidence.bytes} {evidence.sha256}"


@lru_cache(maxsize=16)
def _rules_hash(identity: Identity) -> str:
    found = hashlib.sha256(f"{sys.version}\0{np.__version__}\0".encode() + msgspec.json.encode(identity))
    for module in _DECIDING:
        found.update(Path(str(module.__file__)).read_bytes())
    return found.hexdigest()
