"""A claim as its author writes it: a sentence, where it applies, what is asked of the records, what must come back."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

Target = Literal["any", "sm_90", "gpu"]

# The smallest target whose capture can decide a claim → the devices it then applies to, unless the author says.
DEVICES: dict[str, tuple[str, ...]] = {
    "any": ("*",),
    "sm_90": ("sm_90", "NVIDIA H100*", "NVIDIA H200*", "NVIDIA GH200*"),
    "gpu": ("NVIDIA H100*", "NVIDIA H200*", "NVIDIA GH200*"),
}

Names = str | tuple[str, ...]


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class Source(Written, frozen=True, kw_only=True):
    """Where the claim was first made: a document and the heading it stands under."""

    document: str
    section: str


class Scope(Written, frozen=True, kw_only=True):
    """Where a claim applies. A list means: in each of them. Empty in a check: as the claim says."""

    workload: Names = ()
    shape: Names = ()
    compiler: Names = ()
    variant: Names = ()  # * for any part of it, as in default-patch-*
    device: Names = ()  # targets by name, * for any part of it; what code was compiled for counts as "sm_90"
    versions: str = ""  # of the compiler: PEP 440 specifiers, open upward unless they close it


class Check(Written, frozen=True, kw_only=True):
    """One query and what it must answer. ``tolerance`` is absolute, or relative when it ends in %."""

    query: str
    operator: str
    expected: Any
    tolerance: float | str = 0.0
    applies_to: Scope = Scope()


class Claim(Written, frozen=True, kw_only=True):
    """One sentence with a fact in it. It has either a check of its own or several ``checks``; all of them must hold."""

    id: str
    statement: str
    source: Source
    target: Target
    applies_to: Scope
    where: tuple[str, ...] = ()  # pages and sections that use it
    note: str = ""  # what a reader should know beside the verdict
    query: str = ""
    operator: str = ""
    expected: Any = None
    tolerance: float | str = 0.0
    checks: tuple[Check, ...] = ()

    def all_checks(self) -> tuple[Check, ...]:
        if self.checks:
            return self.checks
        return (Check(query=self.query, operator=self.operator, expected=self.expected, tolerance=self.tolerance),)

    def cases(self) -> list[Case]:
        """Every configuration the claim speaks of, with the check that it must pass."""
        return [case for check in self.all_checks() for case in self._cases_of(check)]

    def _cases_of(self, check: Check) -> list[Case]:
        own, shared = check.applies_to, self.applies_to
        devices = names(own.device) or names(shared.device) or DEVICES[self.target]
        return [
            Case(check, workload, shape, compiler, variant, devices, own.versions or shared.versions)
            for workload in names(own.workload) or names(shared.workload)
            for shape in names(own.shape) or names(shared.shape)
            for compiler in names(own.compiler) or names(shared.compiler)
            for variant in names(own.variant) or names(shared.variant) or ("default",)
        ]


class Case(msgspec.Struct, frozen=True):
    """One check on one configuration; ``devices`` and ``versions`` bound what may answer for it."""

    check: Check
    workload: str
    shape: str
    compiler: str
    variant: str
    devices: tuple[str, ...]
    versions: str

    @property
    def title(self) -> str:
        variant = "" if self.variant == "default" else f" {self.variant}"
        return f"{self.workload} × {self.compiler}{variant} at {self.shape}"

    def on_device(self, target: str) -> bool:
        return any(fnmatchcase(target, pattern) for pattern in self.devices)

    def is_configuration(self, workload: str, shape: str, compiler: str, variant: str) -> bool:
        own = (self.workload, self.shape, self.compiler)
        return own == (workload, shape, compiler) and fnmatchcase(variant, self.variant)


def spelled(devices: tuple[str, ...]) -> str:
    """The devices of a scope in words."""
    known = {
        DEVICES["any"]: "any device",
        DEVICES["sm_90"]: "a Hopper GPU or for sm_90",
        DEVICES["gpu"]: "a Hopper GPU",
    }
    return known.get(devices) or " or ".join(pattern.replace("*", "").strip() for pattern in devices)


def names(written: Names) -> tuple[str, ...]:
    """One name or several, as several."""
    return (written,) if isinstance(written, str) else written


def check_name(claim_id: str) -> str:
    """What Dagster calls the check of a claim: it allows letters, digits and underscores."""
    return claim_id.replace("-", "_")
