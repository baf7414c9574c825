"""Everything that is checked of a bundle before its first byte is kept."""

from __future__ import annotations

import re
import unicodedata
from graphlib import CycleError, TopologicalSorter
from typing import BinaryIO, NamedTuple

import msgspec
from tensor_worker.artifacts import Stage
from tensor_worker.program import Program

from tensor_assets.errors import BundleRefused, RecordRefused
from tensor_assets.evidence import bundle
from tensor_assets.evidence.bundle import Declaration, Placed
from tensor_assets.evidence.facts import broken_facts
from tensor_assets.evidence.key import digest, kind_of, one_line, title
from tensor_assets.evidence.programs import problem_of
from tensor_assets.evidence.references import evidence_of, parents_of, structs_in
from tensor_assets.evidence.rules import PLACEHOLDER
from tensor_assets.evidence.schema import decode
from tensor_assets.evidence.selection import device_of, names_of
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import Allocation, Evidence, Fixture, Record

# Every honest part of a key ("weight_view", "NVIDIA H100 80GB HBM3", a hash) is made of these.
_KEY_PART = re.compile(r"(?![. ])[A-Za-z0-9_ .+:,=@()-]{0,200}")
_FIXTURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Admitted(NamedTuple):
    declaration: Declaration
    evidence: list[Placed]
    records: list[Placed]  # parents before children


def admit(file: BinaryIO, size: int, store: EvidenceStore, devices: tuple[str, ...] = ()) -> Admitted:
    """The bundle's members, all of them read and checked, nothing kept. ``store`` may have what the bundle's records
    refer to. Raises BundleRefused."""
    declaration, placed = bundle.read_declaration(file, size)
    admission = _Admission(file, declaration, placed, store)
    admission.check_evidence()
    admission.check_records()
    admission.check_devices(devices)
    admission.check_facts()
    return Admitted(declaration, list(admission.evidence.values()), admission.in_order())


class _Admission:
    def __init__(self, file: BinaryIO, declaration: Declaration, placed: list[Placed], store: EvidenceStore) -> None:
        self.file, self.declaration, self.store = file, declaration, store
        self.evidence = {place.member.sha256: place for place in placed if not place.member.kind}
        self.records = {place.member.sha256: place for place in placed if place.member.kind}
        self.parents: dict[str, tuple[str, ...]] = {}
        self.devices: dict[str, str] = {}
        self.allocations: list[Allocation] = []
        self.named: set[str] = set()

    def check_evidence(self) -> None:
        for place in self.evidence.values():
            for _ in bundle.content(self.file, place):
                pass

    def check_records(self) -> None:
        for id, place in self.records.items():
            record = self.record(place)
            self._check_place(place, record)
            self._check_names(record)
            self._check_references(record)
            self.parents[id] = parents_of(record)
            allocation = getattr(record, "allocation", None)
            if allocation is not None:
                self.devices[allocation.id] = device_of(allocation)
                self.allocations.append(allocation)
        stowaway = next(iter({*self.evidence, *self.declaration.omitted} - self.named), None)
        if stowaway:
            raise BundleRefused(f"sha256:{stowaway[:12]}… is named by no record in it")

    def record(self, place: Placed) -> Record:
        data = b"".join(bundle.content(self.file, place))
        try:
            return decode(data)
        except RecordRefused as error:
            raise BundleRefused(one_line(f"{place.member.path}: {error}")) from error

    def check_devices(self, allowed: tuple[str, ...]) -> None:
        """Its records ran where it says they ran, on a device that is allowed."""
        if self.devices != self.declaration.devices:
            found, declared = (", ".join(sorted(d.values())) for d in (self.devices, self.declaration.devices))
            raise BundleRefused(
                one_line(f"its records ran on {found or 'no device'}; it declares {declared or 'none'}")
            )
        for allocation in self.allocations if allowed else ():
            if names_of(allocation).isdisjoint(allowed):
                found = device_of(allocation)
                raise BundleRefused(one_line(f"its records ran on {found}; expected {', '.join(allowed)}"))

    def check_facts(self) -> None:
        for place in self.records.values():
            for sentence in broken_facts(self.record(place), self._read, self._other):
                raise BundleRefused(sentence)

    def in_order(self) -> list[Placed]:
        """Parents before children, so that an import cut short never leaves a record without what it was made from."""
        graph = {id: [parent for parent in parents if parent in self.records] for id, parents in self.parents.items()}
        try:
            return [self.records[id] for id in TopologicalSorter(graph).static_order()]
        except CycleError as error:
            raise BundleRefused("its records are each other's parents") from error

    def _check_place(self, place: Placed, record: Record) -> None:
        member = place.member
        if (member.kind, member.key_digest) != (kind_of(type(record)), digest(record.key)):
            raise BundleRefused(f"{member.path}: {title(record)} is declared under another key")

    def _check_names(self, record: Record) -> None:
        """Nothing that becomes a file name, a word on a page or a line of a script may be more than that."""
        for part in msgspec.structs.astuple(record.key):
            if not _KEY_PART.fullmatch(part):
                raise BundleRefused(one_line(f"its key holds {part[:80]!r}"))
        for struct in structs_in(record):
            name = struct.name if isinstance(struct, Evidence) else struct.path if isinstance(struct, Stage) else "x"
            if not _plain_path(name):
                raise BundleRefused(one_line(f"{title(record)} names a file {name[:80]!r}"))
            if isinstance(struct, Fixture) and not _FIXTURE.fullmatch(struct.name):
                raise BundleRefused(one_line(f"{title(record)} names a fixture {struct.name[:80]!r}"))
            if isinstance(struct, Program) and (problem := problem_of(struct)):
                raise BundleRefused(one_line(f"{title(record)}: {problem}"))

    def _check_references(self, record: Record) -> None:
        for evidence in evidence_of(record):
            self.named.add(evidence.sha256)
            place = self.evidence.get(evidence.sha256)
            if place is not None and place.member.bytes != evidence.bytes:
                raise BundleRefused(
                    f"{title(record)}: {evidence.name} has {place.member.bytes:,} bytes, not {evidence.bytes:,}"
                )
            if (
                place is None
                and evidence.sha256 not in self.declaration.omitted
                and not self.store.has(evidence.sha256)
            ):
                raise BundleRefused(
                    f"{title(record)} names {evidence.name}, which is neither in it nor said to be omitted"
                )
        for parent in parents_of(record):
            self.named.add(parent)
            if not (parent in self.records or parent in self.declaration.omitted or self.store.has_record(parent)):
                raise BundleRefused(f"{title(record)} names parent {parent[:12]}…, which is neither in it nor omitted")

    def _read(self, sha256: str) -> bytes:
        place = self.evidence.get(sha256)
        return self.store.read(sha256) if place is None else b"".join(bundle.content(self.file, place))

    def _other(self, record_id: str) -> Record | None:
        place = self.records.get(record_id)
        return self.record(place) if place is not None else None


def _plain_path(name: str) -> bool:
    """A relative path of printable characters that goes nowhere but down."""
    name = PLACEHOLDER.sub("x", name)
    parts = name.split("/")
    return (
        0 < len(name) <= 255
        and name.isprintable()
        and not any(char in name for char in '\\<>"|*?')
        and not any(part in ("", ".", "..") for part in parts)
        and unicodedata.normalize("NFC", name) == name
    )
