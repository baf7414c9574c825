"""What changed between two captures of one configuration: its code, stage by stage, and its numbers."""

from __future__ import annotations

import difflib
from typing import Literal, NamedTuple, Protocol

import msgspec
from tensor_worker.artifacts import Launch, Stage
from tensor_worker.normalize import normalize

from tensor_assets.records import Admission, CaptureRecord, Evidence, LaunchChange, StageChange, StageFile

# Beyond this a line-by-line comparison takes minutes and nobody reads it; both texts are in the store.
MOST_LINES = 20_000
Code = Literal["same", "text", "changed", "unknown"]
Numbers = Literal["same", "broken", "mended", "changed", "not judged"]


class Texts(Protocol):
    """The part of an evidence store that this needs."""

    def read(self, evidence: Evidence) -> bytes: ...

    def put_bytes(self, data: bytes, media_type: str, name: str, private: bool = False) -> Evidence: ...


class CodeChange(NamedTuple):
    code: Code
    stages: tuple[StageChange, ...]
    launches: tuple[LaunchChange, ...]


class _Staged(NamedTuple):
    stage: Stage
    file: StageFile


def code_change(old: CaptureRecord, new: CaptureRecord, texts: Texts) -> CodeChange:
    """Which stages and launches differ. Text that differs above equal machine code and geometry is ``text``.

    A diff of normalized text is kept for every stage that changed. Raises EvidenceMissing, EvidenceDamaged.
    """
    before, after = _staged(old), _staged(new)
    names = dict.fromkeys([*before, *after])
    stages = tuple(_stage_change(name, before.get(name), after.get(name), texts) for name in names)
    return CodeChange(_code(old, new, stages), stages, launch_changes(old, new))


def numbers_change(old: CaptureRecord, new: CaptureRecord) -> Numbers:
    """Whether the answers are still right, and still the same where several are."""
    before, after = old.admission, new.admission
    if before is None or after is None or before.admitted is None or after.admitted is None:
        return "not judged"
    if before.admitted != after.admitted:
        return "broken" if before.admitted else "mended"
    return "same" if _facts(before) == _facts(after) else "changed"


def launch_changes(old: CaptureRecord, new: CaptureRecord) -> tuple[LaunchChange, ...]:
    """Places of the two plans that differ in what is launched or with which geometry."""
    before, after = _launches(old), _launches(new)
    length = max(len(before), len(after))
    rows = ((_launch(before, place), _launch(after, place)) for place in range(length))
    return tuple(LaunchChange(position=n, old=a, new=b) for n, (a, b) in enumerate(rows) if a != b)


def _code(old: CaptureRecord, new: CaptureRecord, stages: tuple[StageChange, ...]) -> Code:
    if not old.fingerprint or not new.fingerprint:
        return "unknown"
    machine = [stage.change for stage in stages if stage.level == "machine"]
    if machine:
        selected = _geometry(old) == _geometry(new) and set(machine) == {"same"}
    else:
        selected = old.fingerprint == new.fingerprint
    if not selected:
        return "changed"
    if any(launch.kind == "library" for record in (old, new) for launch in _launches(record)):
        return "unknown"  # a library's kernel of the same name may be another one
    return "same" if all(stage.change == "same" for stage in stages) else "text"


def _geometry(record: CaptureRecord) -> list[tuple[object, ...]]:
    """What of a plan the machine code does not tell; names only where the code is not in our hands."""
    return [
        (launch.kind, launch.grid, launch.block, launch.shared_bytes, "" if launch.code_sha256 else launch.name)
        for launch in _launches(record)
    ]


def _launches(record: CaptureRecord) -> tuple[Launch, ...]:
    return record.plan.launches if record.plan else ()


def _facts(admission: Admission) -> tuple[object, ...]:
    verdicts = tuple((v.fixture, v.output, v.kind, v.passed, v.mismatches, v.worst) for v in admission.verdicts)
    return admission.boundary, verdicts


def _staged(record: CaptureRecord) -> dict[str, _Staged]:
    files = {file.stage: file for file in record.stages}
    stages = record.capture.stages if record.capture else ()
    return {stage.name: _Staged(stage, files[stage.name]) for stage in stages if stage.name in files}


def _stage_change(name: str, old: _Staged | None, new: _Staged | None, texts: Texts) -> StageChange:
    about = StageChange(
        stage=name,
        level=(new or old).stage.level,  # type: ignore[union-attr]
        change="removed" if new is None else "added",
        old=old.file.text.sha256 if old else "",
        new=new.file.text.sha256 if new else "",
    )
    if old is None or new is None:
        return about
    if old.file.fingerprint == new.file.fingerprint:
        return msgspec.structs.replace(about, change="same")
    both = old.file.compared is not None and new.file.compared is not None
    before, after = (
        _lines(texts, staged, (both and staged.file.compared) or staged.file.text) for staged in (old, new)
    )
    if before == after:  # what they differed in was circumstance; one was hashed before that was known
        return msgspec.structs.replace(about, change="same")
    if max(len(before), len(after)) > MOST_LINES:
        remark = f"more than {MOST_LINES:,} lines: compare the two files"
        return msgspec.structs.replace(about, change="changed", remark=remark)
    lines = list(difflib.unified_diff(before, after, f"{name}, accepted", f"{name}, candidate", lineterm=""))
    text = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
    return msgspec.structs.replace(
        about,
        change="changed",
        difference=texts.put_bytes(text, "text/plain", f"{name}.diff"),
        removed=sum(line.startswith("-") for line in lines[2:]),
        added=sum(line.startswith("+") for line in lines[2:]),
    )


def _lines(texts: Texts, staged: _Staged, evidence: Evidence) -> list[str]:
    text = texts.read(evidence).decode("utf-8", "surrogateescape")
    return normalize(text, staged.stage.language).splitlines()


def _launch(launches: tuple[Launch, ...], place: int) -> str:
    if place >= len(launches):
        return ""
    launch = launches[place]
    parts = [launch.kind, launch.name]
    parts += [f"grid {'×'.join(map(str, launch.grid))}"] if launch.grid else []
    parts += [f"block {'×'.join(map(str, launch.block))}"] if launch.block else []
    parts += [f"{launch.registers} registers"] if launch.registers is not None else []
    parts += [f"{launch.shared_bytes:,} shared bytes"] if launch.shared_bytes else []
    parts += [launch.instruction] if launch.instruction else []
    parts += [f"code {launch.code_sha256[:7]}"] if launch.code_sha256 else []
    return " ".join(parts)
