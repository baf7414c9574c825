"""What a verification says."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

Kind = Literal[
    "changed", "missing", "refused", "misfiled", "inconsistent", "foreign", "orphaned", "leftover", "omitted"
]

# What these say is worth knowing, and nothing is wrong: no record names the file yet, a writer was interrupted, a
# bundle came without its private part.
HARMLESS: tuple[Kind, ...] = ("orphaned", "leftover", "omitted")


class Finding(msgspec.Struct, frozen=True):
    kind: Kind
    path: str
    message: str

    @property
    def failed(self) -> bool:
        return self.kind not in HARMLESS


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """``root`` is a hash over the names of all records and their order: kept elsewhere, it shows records that were
    taken away, renumbered, or forged with everything that refers to them."""

    url: str
    files: int
    bytes: int  # as stored
    records: int
    root: str
    seconds: float
    findings: tuple[Finding, ...] = ()

    @property
    def sound(self) -> bool:
        return not any(finding.failed for finding in self.findings)

    @property
    def exit_code(self) -> int:
        return 0 if self.sound else 1

    def summary(self) -> str:
        """One line: "STORE: 1,204 files, 31.2 MB, 96 records: sound; 3 omitted"."""
        counts = Counter(finding.kind for finding in self.findings)
        listed = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
        return (
            f"{self.url}: {self.files:,} files, {self.bytes / 1e6:,.1f} MB, {self.records:,} records: "
            f"{'sound' if self.sound else 'DAMAGED'}{'; ' if listed else ''}{listed}"
        )
