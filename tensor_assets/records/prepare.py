"""Records of what a capture needs: fixtures and environments."""

from __future__ import annotations

from tensor_worker.messages import Variant
from tensor_worker.program import Program

from tensor_assets.records.base import Evidence, RecordBase, Struct


class Bound(Struct, frozen=True, kw_only=True):
    """Proof that one contraction of an exact fixture has one answer in any order: max Σ|a·b| in grid steps < 2**24."""

    op: str
    steps: float


class Fixture(Struct, frozen=True, kw_only=True):
    """One set of inputs with its reference outputs. ``arrays`` and ``reference`` are .npz; hashes are per array."""

    name: str  # search, exact-0, exact-1, random, …
    exact: bool
    seed: int
    arrays: Evidence
    reference: Evidence  # outputs after rounding at every boundary
    low: Evidence | None = None  # least legal outputs, where the fixture is not exact
    high: Evidence | None = None  # greatest legal outputs
    hashes: dict[str, str]  # SHA-256 over dtype, shape and bytes of every input and reference output
    bounds: tuple[Bound, ...] = ()
    coverage: dict[str, float] = {}  # violation → share of output elements it changes
    recipe: str = ""


class FixtureRecord(RecordBase, frozen=True, kw_only=True, tag="fixtures"):
    program: Program
    question: str
    fixtures: tuple[Fixture, ...]


class EnvironmentRecord(RecordBase, frozen=True, kw_only=True, tag="environment"):
    """One compiler's isolated environment. ``freeze`` is name → version, all of it."""

    python: str
    lock_sha256: str
    freeze: dict[str, str]
    version: str = ""  # of the compiler itself
    toolchain: dict[str, str] = {}
    candidate: bool = False  # of a release that is tried or looked into, not of the accepted one
    variants: tuple[Variant, ...] = ()  # what the compiler's worker offers, from its greeting
