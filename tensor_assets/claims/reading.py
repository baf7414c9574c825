"""Claim files, read strictly: an error names the file, the line, the JSON pointer, the value and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from tensor_assets.claims.claim import Check, Claim, Scope, Written, check_name, names
from tensor_assets.claims.operators import OPERATORS, BadExpectation, require_expectation
from tensor_assets.claims.query import BadQuery, Query
from tensor_assets.claims.versions import require_range
from tensor_assets.claims.yaml_text import Lines, read_yaml
from tensor_assets.contract.reading import shown
from tensor_assets.errors import ClaimError

_ID = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]|\[\.\.\.\]")


class _File(Written, frozen=True, kw_only=True):
    claims: tuple[Claim, ...]


def load_claims(folders: Iterable[Path]) -> dict[str, Claim]:
    """Every claim of every ``*.yaml`` in ``folders``, by id, in the order of the files. Raises ClaimError."""
    found: dict[str, Claim] = {}
    places: dict[str, str] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.yaml")):
            for claim in read_claims(path):
                name = check_name(claim.id)
                if name in places:
                    raise ClaimError(str(path), "/claims", 0, f"id {claim.id!r} is taken by {places[name]}")
                found[claim.id], places[name] = claim, str(path)
    return found


def read_claims(path: Path) -> list[Claim]:
    """The claims of one file. Raises ClaimError."""
    source = "".join(char if char.isprintable() else "�" for char in str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ClaimError(source, "", 0, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    return parse_claims(data, source)


def parse_claims(data: bytes, source: str) -> list[Claim]:
    """As ``read_claims``, from bytes; ``source`` is what errors call them."""
    plain, lines = read_yaml(data, source)
    reader = _Reader(source, plain, lines)
    try:
        claims = list(msgspec.convert(plain, _File, strict=True).claims)
    except msgspec.ValidationError as error:
        reader.refuse(error)
    seen: dict[str, int] = {}
    for place, claim in enumerate(claims):
        reader.check_claim(claim, f"/claims/{place}", seen)
    return claims


class _Reader:
    """Checks what types alone cannot, and says where."""

    def __init__(self, source: str, plain: Any, lines: Lines) -> None:
        self.source, self.plain, self.lines = source, plain, lines

    def fail(self, pointer: str, problem: str) -> NoReturn:
        known = pointer
        while known not in self.lines:
            known = known.rpartition("/")[0]
        raise ClaimError(self.source, pointer, self.lines[known], problem)

    def refuse(self, error: msgspec.ValidationError) -> NoReturn:
        """msgspec says "… - at `$.claims[0].id`"."""
        problem, _, path = str(error).partition(" - at `$")
        pointer = "".join(f"/{name or place}" for name, place in _STEP.findall(path))
        if unknown := re.search(r"unknown field `(.*)`", problem):
            pointer += f"/{unknown[1]}"
            allowed = ", ".join(_allowed(pointer))
            self.fail(pointer, f"field {unknown[1]!r} is not known (have: {allowed})")
        if missing := re.search(r"missing required field `(.*)`", problem):
            self.fail(pointer, f"field {missing[1]!r} is missing")
        self.fail(pointer, f"{shown(self._value(pointer))} is not allowed: {problem[0].lower()}{problem[1:]}")

    def check_claim(self, claim: Claim, pointer: str, seen: dict[str, int]) -> None:
        if not _ID.fullmatch(claim.id) or len(claim.id) > 64:
            self.fail(
                f"{pointer}/id",
                f"{shown(claim.id)} is no id, expected lower-case words joined by - or _, at most 64 letters",
            )
        name = check_name(claim.id)
        if name in seen:
            self.fail(f"{pointer}/id", f"id {claim.id!r} is taken by the claim on line {seen[name]}")
        seen[name] = self.lines[f"{pointer}/id"]
        if not claim.statement.strip():
            self.fail(f"{pointer}/statement", "is empty, expected a sentence")
        if bool(claim.query) == bool(claim.checks):
            self.fail(pointer, "needs either query, operator and expected, or checks, not both")
        self._check_scope(claim.applies_to, f"{pointer}/applies_to")
        for place, check in enumerate(claim.all_checks()):
            own = f"{pointer}/checks/{place}" if claim.checks else pointer
            self._check_scope(check.applies_to, f"{own}/applies_to")
            self._check(claim, check, own)

    def _check(self, claim: Claim, check: Check, pointer: str) -> None:
        for part in ("workload", "shape", "compiler"):
            if not names(getattr(check.applies_to, part)) and not names(getattr(claim.applies_to, part)):
                self.fail(f"{pointer}/applies_to", f"names no {part}, here or in the claim")
        if check.operator not in OPERATORS:
            have = ", ".join(OPERATORS)
            self.fail(f"{pointer}/operator", f"{shown(check.operator)} is no operator (have: {have})")
        try:
            Query(check.query)
        except BadQuery as problem:
            self.fail(f"{pointer}/query", f"{shown(check.query)} {problem}")
        if "expected" not in (self._value(pointer) or {}):
            self.fail(pointer, "field 'expected' is missing")
        try:
            require_expectation(check.operator, check.expected, check.tolerance)
        except BadExpectation as problem:
            self.fail(f"{pointer}/expected", f"{shown(check.expected)} is not allowed: {problem}")

    def _check_scope(self, scope: Scope, pointer: str) -> None:
        try:
            require_range(scope.versions)
        except ValueError as problem:
            self.fail(f"{pointer}/versions", str(problem))

    def _value(self, pointer: str) -> Any:
        value = self.plain
        for step in pointer.split("/")[1:]:
            try:
                value = value[int(step)] if isinstance(value, list) else value[step]
            except (KeyError, IndexError, ValueError, TypeError):
                return None
        return value


def _allowed(pointer: str) -> Iterator[str]:
    """Field names of the struct that an unknown field at ``pointer`` stands in."""
    inside = pointer.split("/")[-2:-1]
    steps = [step for step in pointer.split("/")[1:-1] if not step.isdecimal()]
    kinds: dict[str, type[msgspec.Struct]] = {"claims": Claim, "checks": Check, "applies_to": Scope}
    kind = kinds.get(steps[-1], Claim) if steps and inside else _File
    if steps and steps[-1] == "source":
        from tensor_assets.claims.claim import Source

        kind = Source
    return iter(kind.__struct_fields__)
