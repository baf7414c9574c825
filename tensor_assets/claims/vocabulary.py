"""Whether the names in a claim are names of anything: workloads, shapes and compilers of this checkout."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from tensor_assets.claims.claim import Claim
from tensor_assets.errors import ClaimError


class Vocabulary(Protocol):
    """What ``campaign.workspace.Workspace`` has."""

    @property
    def workloads(self) -> Collection[str]: ...
    @property
    def shapes(self) -> Collection[str]: ...
    @property
    def adapters(self) -> Collection[str]: ...


def require_known(claims: Iterable[Claim], known: Vocabulary) -> None:
    """Raises ClaimError for the first name that nothing is called by."""
    have = {"workload": known.workloads, "shape": known.shapes, "compiler": known.adapters}
    for claim in claims:
        for case in claim.cases():
            for part, names in have.items():
                name = getattr(case, part)
                if name not in names:
                    problem = f"{name!r} is no {part} (have: {', '.join(names)})"
                    raise ClaimError(f"claim {claim.id}", f"/applies_to/{part}", 0, problem)
