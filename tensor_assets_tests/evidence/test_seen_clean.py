"""A file that was found clean is not read through again; nothing else follows from the note."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest

from tensor_assets.errors import EvidenceMissing, EvidencePrivate
from tensor_assets.evidence import media, redaction
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import Evidence
from tensor_assets_tests.evidence.planted import HOST
from tensor_assets_tests.evidence.samples import NOBODY

CLEAN, SECRET = b"arith.addf\n", b"arith.addf // correct-horse-battery\n"


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    """Of a host without words of its own, so that what another host would look for can come in."""
    return EvidenceStore(tmp_path / "store", identity=NOBODY)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is searched for secrets from now on."""
    found: list[str] = []
    search = redaction.redact

    def counting(text: str, *rest: object) -> object:
        found.append(text)
        return search(text, *rest)

    monkeypatch.setattr("tensor_assets.evidence.public.redact", counting)
    return found


def raw(store: EvidenceStore, data: bytes, media_type: str = "text/x-mlir") -> Evidence:
    return msgspec.structs.replace(store._put(io.BytesIO(data), len(data), media_type), name="s.mlir")


def noting(store: EvidenceStore, folder: Path) -> PublicView:
    view = PublicView(store)
    view.note_clean(folder / "seen")
    return view


def notes(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


def test_a_clean_file_is_looked_at_once_and_always_read(store: EvidenceStore, tmp_path: Path, looks: list[str]) -> None:
    clean = raw(store, CLEAN)
    assert [noting(store, tmp_path).read(clean) for _ in range(3)] == [CLEAN] * 3
    assert looks == [CLEAN.decode()]
    assert PublicView(store).read(clean) == CLEAN
    assert len(looks) == 2, "a view without notes looks for itself"


def test_what_is_not_clean_is_refused_each_time_and_never_noted(tmp_path: Path) -> None:
    unclean = raw(EvidenceStore(tmp_path / "store", identity=NOBODY), SECRET)
    for _ in range(2):
        with pytest.raises(EvidencePrivate, match="secret"):
            noting(EvidenceStore(tmp_path / "store", identity=HOST), tmp_path).read(unclean)
    assert not (tmp_path / "seen").exists()


def test_a_note_of_another_host_says_nothing(store: EvidenceStore, tmp_path: Path) -> None:
    evidence = raw(store, SECRET)
    assert noting(store, tmp_path).read(evidence) == SECRET
    with pytest.raises(EvidencePrivate, match="secret"):
        noting(EvidenceStore(tmp_path / "store", identity=HOST), tmp_path).read(evidence)


def test_a_note_says_nothing_of_another_type_or_of_a_file_that_is_gone(store: EvidenceStore, tmp_path: Path) -> None:
    text = raw(store, CLEAN)
    view = noting(store, tmp_path)
    assert view.why_private(text) == ""
    with pytest.raises(EvidencePrivate, match="more than arrays"):
        noting(store, tmp_path).read(msgspec.structs.replace(text, media_type=media.ARRAYS))
    with pytest.raises(EvidencePrivate, match="by type"):
        noting(store, tmp_path).read(msgspec.structs.replace(text, media_type=media.LOG))
    (tmp_path / "store" / str(store.locate(text.sha256))).unlink()
    with pytest.raises(EvidenceMissing):
        noting(store, tmp_path).why_private(text)


def test_a_note_that_was_cut_short_says_nothing(store: EvidenceStore, tmp_path: Path, looks: list[str]) -> None:
    first, second = raw(store, CLEAN), raw(store, CLEAN * 2)
    for evidence in (first, second):
        noting(store, tmp_path).read(evidence)
    whole = notes(tmp_path / "seen").read_bytes()
    notes(tmp_path / "seen").write_bytes(whole[: len(whole) - 9])
    for _ in range(2):
        for evidence in (first, second):
            assert noting(store, tmp_path).why_private(evidence) == ""
    assert looks == [CLEAN.decode(), CLEAN.decode() * 2, CLEAN.decode() * 2]
