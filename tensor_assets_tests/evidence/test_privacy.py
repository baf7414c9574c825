"""Planted secrets: twenty kinds, in every place that leads to the site."""

from __future__ import annotations

import io
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_assets.contract.arrays import save_arrays
from tensor_assets.errors import EvidencePrivate
from tensor_assets.evidence import bundle, media
from tensor_assets.evidence.identity import identity_of
from tensor_assets.evidence.key import canonical
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.redaction import redact, redact_record
from tensor_assets.evidence.selection import Filters
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import export_bundle
from tensor_assets.records import Allocation, CaptureRecord, Key, Outcome, StageFile
from tensor_assets_tests.evidence.planted import HOST, PLANTED, comment, planted_record
from tensor_assets_tests.evidence.samples import NOBODY, campaign, provenance, session_record


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return EvidenceStore(tmp_path / "store", identity=HOST)


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_secret_reaches_neither_the_public_view_nor_a_public_bundle(
    store: EvidenceStore, tmp_path: Path, kind: str, tally
) -> None:
    text, secret = PLANTED[kind]
    record = planted_record(store, text)
    store.put(record)
    shown = everything_public(store)
    export_bundle(store, tmp_path / "public.tar", Filters(public_only=True))
    leaks = [place for place in (shown, unpacked(tmp_path / "public.tar")) if secret.encode() in place]
    assert b"kernel " in shown, "the record must be shown, without its secret"
    assert b"arith.addf" in shown, "the text must be shown, without its secret"
    tally("planted secrets: 7 places each, public view and public bundle", 2, 2 - len(leaks))


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_secret_that_came_in_unclean_is_not_shown_either(tmp_path: Path, kind: str, tally) -> None:
    """From a bundle, or from before the rule existed: the view cleans records, and does not show files."""
    text, secret = PLANTED[kind]
    careless = EvidenceStore(tmp_path / "store", identity=NOBODY)
    raw = careless._put(io.BytesIO(comment(text)), 0, "text/x-mlir")
    record = planted_record(careless, "x")
    record = msgspec.structs.replace(
        record,
        outcome=Outcome(status="crashed", reason=text),
        stages=(StageFile(stage="s", text=msgspec.structs.replace(raw, name="s.mlir")),),
    )
    careless.file(canonical(record), record)
    store = EvidenceStore(tmp_path / "store", identity=HOST)
    assert secret.encode() in canonical(store.get(next(id for id, _ in store.records())))
    exported = export_bundle(store, tmp_path / "public.tar", Filters(public_only=True))
    leaks = [
        place for place in (everything_public(store), unpacked(tmp_path / "public.tar")) if secret.encode() in place
    ]
    assert any("withheld" in reason for reason in exported.omitted.values())
    tally("secrets already in the store: public view and public bundle", 2, 2 - len(leaks))


def everything_public(store: EvidenceStore) -> bytes:
    """All that a site's builder can read."""
    view, found = PublicView(store), []
    for _, record in view.records(history=True):
        found.append(canonical(record))
        for file in getattr(record, "stages", ()):
            if view.has(file.text):
                found.append(view.read(file.text))
        for private in (record.outcome.log, getattr(record, "cache", None)):
            if private is not None:
                with pytest.raises(EvidencePrivate):
                    view.read(private)
    return b"\n".join(found)


def unpacked(path: Path) -> bytes:
    """Everything a bundle holds, decompressed."""
    with path.open("rb") as file:
        _, places = bundle.read_declaration(file, path.stat().st_size)
        members = b"".join(piece for place in places for piece in bundle.content(file, place))
    return path.read_bytes() + members


NATIVE = """\
%5 = "tt.dot"(%3, %4) : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf32> loc("m.py":12:3)
y = torch.mm(x, w.T) + b; z = x@w.T; q@k.transpose(-2, -1); a@self.weight
ld.local.u32 %r1, [%rd2+4]; st.shared.v4.f32 [%r3], {%f1, %f2}; @%p1 bra $L__BB0_2; @!P0 EXIT
/*0010*/ HGMMA.64x128x16.F32 R24, gdesc[UR4], R24, gsb0 ;
#map = affine_map<(d0, d1) -> (d0 floordiv 4, d1 mod 4)> // comment a/b, N/A, f16/f32/bf16
%token = gpu.wait async; tokens: i32; key = block_id; password_hash_table : memref<4xf32>
pid = tl.program_id(0); pid_m = pid // num_n; std::vector<float>::iterator it; f32::max
release 13.0, V13.0.88; clang version 14.0.6; cudnn==9.1.0.70; sm_90a; 0x7f3a; 12:30:45; 2026-12-02
/usr/local/cuda/bin/ptxas --opt-level 3; /usr/include/c++/12/vector; #include <cuda_fp16.h>; http://llvm.org/docs/x.html
(rewrite (Add a (Mul b c)) (Fma b c a)) ; d="M0 0L1/2"; {"host": {"kind": "llvm"}, "uid": 1000}
GPU-11111111-2222-3333-4444-555555555555 sha256:5d41402abc4b2a76b9719d911017c592ae2f0a9d1c3b5e7f9a1b3c5d7e9f0a1b
"""


def test_native_text_of_compilers_is_left_as_it_is() -> None:
    assert redact(NATIVE, HOST) == (NATIVE, {})


@pytest.mark.parametrize(
    "unit", ["a-", "a.", "/a", "1.", ":a", "a@", "A_TOKEN", "machine a ", "//", "1:", "\\'", "a.internal.b-"]
)
def test_no_text_makes_cleaning_slow(unit: str) -> None:
    """A pattern that backtracks would take hours on a megabyte of what it almost matches."""
    text = unit * (1_000_000 // len(unit)) + " .internal .local serial password"
    began = time.monotonic()
    redact(text, HOST)
    assert time.monotonic() - began < 120


@given(st.text(alphabet=st.sampled_from("ab/.@:-_= \n\"'0123456789\\"), max_size=120))
def test_cleaning_twice_changes_nothing_more_and_keeps_lines(text: str) -> None:
    once, _ = redact(text, HOST)
    assert redact(once, HOST) == (once, {})
    assert once.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("# /home/jane/.cache/torchinductor/ab/cab.py:12", "# <path>/cab.py:12"),
        ('loc("/opt/x/y.mlir":12:3)', 'loc("<path>/y.mlir":12:3)'),
        ("/x/lib/python3.11/site-packages/torch/_inductor/a.py", "<packages>/torch/_inductor/a.py"),
        ("-I/data/x/include -o/tmp/a/b.o", "-I<path> -o<path>/b.o"),
        ("file:///data/q/r.txt", "file://<path>/r.txt"),
        ("/home/jane", "<home>"),
        ("jane@node17:/x/y", "<user>@<host>:<path>"),
    ],
)
def test_a_path_keeps_what_names_the_file_and_loses_where_it_lay(text: str, cleaned: str) -> None:
    assert redact(text, NOBODY)[0] == cleaned


def test_what_was_replaced_is_recorded_with_the_evidence(store: EvidenceStore) -> None:
    evidence = store.put_bytes(b'loc("/tmp/a/x.mlir":1:1)\nloc("/tmp/a/y.mlir":1:1) pid=123\n', "text/x-mlir", "s.mlir")
    assert evidence.redacted == {"path": 2, "pid": 1}
    assert store.read(evidence) == b'loc("<path>/x.mlir":1:1)\nloc("<path>/y.mlir":1:1) pid=<pid>\n'
    assert store.put_bytes(b"clean", "text/plain", "x").redacted == {}


@pytest.mark.parametrize(
    "media_type", ["application/x-nsys", "application/octet-stream", "application/zstd", "text/x-log"]
)
def test_a_type_that_is_not_on_the_list_is_private_whatever_its_author_says(store, media_type: str) -> None:
    assert store.put_bytes(b"x", media_type, "x", private=False).private


@pytest.mark.parametrize("name", ["worker.log", "a.ENV", "build.stderr"])
def test_a_log_or_environment_is_private_by_its_name(store: EvidenceStore, name: str) -> None:
    assert store.put_bytes(b"x", "text/plain", name).private


def test_text_with_zero_bytes_is_not_text(store: EvidenceStore) -> None:
    assert store.put_bytes("/home/jane/x".encode("utf-16"), "text/plain", "x").private


@pytest.mark.parametrize("language", ["mlir", "json", "text", "sass"])
def test_native_text_has_a_public_type(language) -> None:
    assert media.of_language(language) in media.PUBLIC


def test_arrays_are_shown_only_if_they_hold_nothing_else(store: EvidenceStore) -> None:
    honest = save_arrays(None, {"a": np.ones(3, np.float16)})
    good = store.put_bytes(honest, media.ARRAYS, "a.npz")
    assert PublicView(store).read(good) == honest
    for bad in (honest + b"/home/jane", b"secret" + honest, b"no arrays"):
        with pytest.raises(EvidencePrivate, match="more than arrays of numbers"):
            PublicView(store).read(store.put_bytes(bad, media.ARRAYS, "b.npz"))


def test_what_is_private_in_one_record_is_private_in_all(store: EvidenceStore) -> None:
    public = store.put_bytes(b"the same bytes", "text/plain", "stage.txt")
    private = store.put_bytes(b"the same bytes", "text/plain", "worker.log")
    assert public.sha256 == private.sha256
    view = PublicView(store)
    assert view.has(public)
    store.put(
        CaptureRecord(key=Key(workload="w"), outcome=Outcome(status="crashed", log=private), provenance=provenance())
    )
    with pytest.raises(EvidencePrivate, match=r"stage\.txt .* is private"):
        PublicView(store).read(public)


def test_a_key_that_holds_a_secret_keeps_its_record_out(store: EvidenceStore, tmp_path: Path) -> None:
    store.put(CaptureRecord(key=Key(workload="/home/janedoe/x"), outcome=Outcome(status="ok"), provenance=provenance()))
    assert list(PublicView(store).records()) == []
    exported = export_bundle(store, tmp_path / "b.tar", Filters(public_only=True))
    assert exported.records == 0
    assert "withheld" in next(iter(exported.omitted.values()))


def test_versions_are_no_addresses_where_versions_stand() -> None:
    store_record = session_record()
    record = msgspec.structs.replace(
        store_record,
        provenance=msgspec.structs.replace(
            store_record.provenance, packages={"nvidia-curand": "10.3.5.147"}, command=("10.3.5.147",)
        ),
    )
    cleaned, counts = redact_record(record, NOBODY)
    assert cleaned.provenance.packages == {"nvidia-curand": "10.3.5.147"}
    assert cleaned.provenance.command == ("<address>",)
    assert counts == {"address": 1}


def test_only_variables_that_shape_results_are_kept_of_an_environment(store: EvidenceStore) -> None:
    """A secret in a variable may look like anything."""
    environment = {"OMP_NUM_THREADS": "2", "BEAM": "2", "MODULAR_AUTH_TOKEN": "abc", "MY_NOTE": "swordfish", "PWD": "x"}
    record = session_record()
    record = msgspec.structs.replace(
        record, provenance=msgspec.structs.replace(record.provenance, environment=environment)
    )
    kept = store.get(store.put(record)).provenance.environment
    assert kept == {"OMP_NUM_THREADS": "2", "BEAM": "2"}


def test_a_boot_is_kept_as_a_hash_so_that_equal_boots_stay_equal(store: EvidenceStore) -> None:
    allocation = Allocation(id="a", device="cpu", boot_id="123e4567-e89b-42d3-a456-426614174000")
    record = store.get(store.put(session_record(allocation=allocation)))
    assert record.allocation.boot_id.startswith("boot-")  # type: ignore[union-attr]
    assert "123e4567" not in canonical(record).decode()
    assert redact_record(record, HOST) == (record, {})


def test_a_clean_record_is_the_same_object_and_campaigns_are_clean(tmp_path: Path) -> None:
    for _, record in campaign(tmp_path / "s").store.records():
        assert redact_record(record, HOST)[0] is record


def test_identity_takes_what_tells_and_leaves_words_that_compilers_use() -> None:
    environ = {
        "USER": "janedoe", "LOGNAME": "max", "HOSTNAME": "node17.lab", "HOME": "/data/people/janedoe",
        "MY_API_KEY": "correct-horse-battery", "KEYBOARD": "us", "SSH_AUTH_SOCK": "/tmp/ssh-x/agent.1",
        "TOKEN_LIMIT": "12345678",
    }  # fmt: skip
    identity = identity_of(environ)
    assert "janedoe" in identity.users
    assert "max" not in identity.users
    assert "node17.lab" in identity.hosts
    assert "/data/people/janedoe" in identity.homes
    assert identity.secrets == ("correct-horse-battery",)


def test_the_view_reads_like_a_store(tmp_path: Path) -> None:
    sample = campaign(tmp_path / "s")
    view = PublicView(sample.store)
    assert [id for id, _ in view.records()] == [id for id, _ in sample.store.records()]
    capture = sample.store.get(sample.ids["capture tvm"])
    assert view.get(sample.ids["capture tvm"]) == capture
    assert view.latest(CaptureRecord, capture.key) == (sample.ids["capture tvm"], capture)
    assert view.latest(CaptureRecord, Key()) is None
    assert view.read(sample.stage) == sample.store.read(sample.stage)
    assert not [name for name in dir(view) if name.startswith(("put", "write", "store", "file"))]
