"""Private words that a text spells in numbers, escapes, digits or base64 are found and overwritten where they stand."""

from __future__ import annotations

import io
import re
import string
import time

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tensor_assets.errors import EvidencePrivate
from tensor_assets.evidence import media
from tensor_assets.evidence.already_public import ALREADY_PUBLIC
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.redaction import redact
from tensor_assets.evidence.references import evidence_of
from tensor_assets.evidence.selection import Filters
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import export_bundle, import_bundle
from tensor_assets.records import Evidence, StageFile
from tensor_assets.report.public import PublicFiles
from tensor_assets.settings import ROOT
from tensor_assets_tests.evidence.planted import HOST, PLANTED, planted_record
from tensor_assets_tests.evidence.samples import NOBODY
from tensor_assets_tests.evidence.spelt import WAYS, of_ptx
from tensor_assets_tests.evidence.test_privacy import unpacked


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_secret_is_overwritten_however_it_is_spelled(way: str, kind: str) -> None:
    write, read = WAYS[way]
    text, secret = PLANTED[kind]
    spelled = write(text.encode())
    cleaned, counts = redact(spelled, HOST)
    assert counts
    assert secret.encode() not in read(cleaned)
    assert secret not in cleaned
    assert cleaned.count("\n") == spelled.count("\n")
    assert redact(cleaned, HOST) == (cleaned, {})


NAMES = st.text(alphabet=string.ascii_letters + string.digits + "._-äß漢", min_size=3, max_size=12)


@pytest.mark.parametrize("way", [way for way in WAYS if "slashes" not in way and way != "characters"])
@given(name=NAMES, folder=NAMES, before=st.binary(max_size=12), after=st.binary(max_size=12))
def test_nobodys_home_is_read_back(way: str, name: str, folder: str, before: bytes, after: bytes) -> None:
    """Whatever bytes stand around it, up to the zeros that a string lies between."""
    write, read = WAYS[way]
    home = f"/home/{name}/.cache/{folder}".encode()
    whole = before + b"\0" + home + b"\0" + after
    if way == "base64":  # of plain text: beside other bytes a group of three belongs to both
        assume(home.isascii())
        whole = home
    if way == "digits":  # as many as a digest has are taken for one, unless all of it is text
        assume(len(whole) not in (16, 20, 32, 48, 64))
    cleaned, counts = redact(write(whole), NOBODY)
    assert set(counts) & {"home", "path"}
    assert home[len("/home/") :] not in read(cleaned)
    assert name.encode() + b"/" not in read(cleaned)
    assert len(read(cleaned)) >= len(whole) - 3


@pytest.mark.parametrize("before", [b"", b"1", b"\x05a", b"10", b"..\0"])
def test_a_byte_of_other_data_before_a_path_does_not_hide_it(before: bytes) -> None:
    write, read = WAYS["PTX of LLVM"]
    cleaned, _ = redact(write(before + b"/scratch/janedoe/k.cu\0"), NOBODY)
    assert b"janedoe" not in read(cleaned)


@pytest.mark.parametrize(
    "text",
    [
        '{"reason": "it said:\\n/scratch/janedoe/k.cu"}',
        '#x = "{\\22file\\22: \\22/scratch/janedoe/k.cu\\22}"',
        '!1 = !DIFile(filename: "k.py", directory: "/scratch/janedoe/nx")',
        '\t//## File "/scratch/janedoe/k.py", line 12 inlined at "/scratch/janedoe/k.py", line 9',
        '\t.file\t1 "/scratch/janedoe" "k.cu"',
        '#loc1 = loc("/scratch/janedoe/k.mlir":3:1)',
        '.asciz "/scratch/janedoe/k.cu"',
    ],
)
def test_a_path_in_a_compilers_debug_data_is_found(text: str) -> None:
    cleaned, counts = redact(text, NOBODY)
    assert "janedoe" not in cleaned
    assert counts
    assert redact(cleaned, NOBODY) == (cleaned, {})


CODE = """\
.global .align 4 .b8 table[16] = {0, 1, 2, 3, 4, 5, 6, 7, 47, 104, 111, 109, 101};
.b8 107 // DW_AT_name
.b8 101
.b8 114
.b8 110
.b8 101
.b8 108
.b8 115
.b8 46
.b8 112
.b8 121
{"samples_ns": [12047, 11999, 13047, 12104, 11111], "sha256": "5d41402abc4b2a76b9719d911017c592"}
{"shape": [64, 47, 47, 47, 104]}
%0 = llvm.mlir.constant("a \\22quoted\\22 word, a tab\\09 and a line\\0A") : !llvm.ptr
dense<"0x0000803F000000400000404000008040"> : tensor<4xf32>
x = re.sub(r"\\d+/\\w+", "", y); print("\\x1b[0m", "\\u2014")
"""


def test_numbers_and_escapes_that_say_nothing_of_anybody_are_left_as_they_are() -> None:
    assert redact(CODE, HOST) == (CODE, {})


@given(st.binary(min_size=32, max_size=32))
def test_a_digest_is_a_digest(data: bytes) -> None:
    assert redact(f'"sha256": "{data.hex()}"', HOST)[1] == {}


@pytest.mark.parametrize(
    "unit",
    ["1,", "1 ", "0x12345678 ", "1 a:", "'a',", "'", "1 //", "1 /*", "-1 ", "a1 ", "\\x41", "\\22", "41", "L2hv"],
)
def test_no_text_makes_reading_slow(unit: str) -> None:
    """As with the rules themselves: a pattern that backtracks would take hours."""
    began = time.monotonic()
    redact(unit * (1_000_000 // len(unit)) + ".", HOST)
    assert time.monotonic() - began < 120


# What Triton hands over: the recorded files of PTX, with another folder in their debug sections.


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Evidence, str]]:
    """Every PTX of the campaigns that ship with the project."""
    store = EvidenceStore(tmp_path_factory.mktemp("recorded") / "store")
    for bundle in sorted((ROOT / "fixtures" / "recorded").glob("*.bundle")):
        import_bundle(store, bundle)
    named = {file.sha256: file for _, record in store.records(history=True) for file in evidence_of(record)}
    ptx = (file for file in named.values() if file.media_type == media.of_language("ptx"))
    return {file.sha256: (file, store.read(file).decode()) for file in ptx}


def compiled_at(folder: str, ptx: str) -> str:
    """``ptx`` as if its source had lain in ``folder``."""
    spelled = "".join(f".b8 {byte}\n" for byte in folder.encode() + b"\0")
    moved, times = re.subn(r"\.b8 47 +// DW_AT_comp_dir\n(?:\.b8 [1-9]\d*\n)*\.b8 0\n", lambda _: spelled, ptx)
    assert times == 1
    return moved


@pytest.fixture
def at_home(recorded) -> str:
    return compiled_at("/home/janedoe/.cache/torchinductor/nx", recorded[min(ALREADY_PUBLIC)][1])


def test_a_home_in_debug_sections_is_overwritten_when_it_comes_in(tmp_path, at_home: str) -> None:
    store = EvidenceStore(tmp_path / "store", identity=NOBODY)
    kept = store.put_bytes(at_home.encode(), "text/x-ptx", "k.ptx")
    text = store.read(kept).decode()
    assert kept.redacted
    assert b"janedoe" in of_ptx(at_home)
    assert b"janedoe" not in of_ptx(text)
    code = at_home.partition(".section")[0]
    assert text.partition(".section")[0] == code
    assert text.count("\n") == at_home.count("\n")
    assert PublicView(store).read(kept) == text.encode()


def test_a_home_that_came_in_unread_is_neither_shown_nor_given_away(tmp_path, at_home: str) -> None:
    """From a bundle, or kept before this was looked for."""
    store = EvidenceStore(tmp_path / "store", identity=NOBODY)
    data = at_home.encode()
    unread = msgspec.structs.replace(store._put(io.BytesIO(data), len(data), "text/x-ptx"), name="k.ptx")
    record = msgspec.structs.replace(planted_record(store, "x"), stages=(StageFile(stage="s", text=unread),))
    store.put(record)
    with pytest.raises(EvidencePrivate, match=r"k\.ptx .* is withheld, since it holds path"):
        PublicView(store).read(unread)
    placed = PublicFiles(PublicView(store), tmp_path / "site").add(unread)
    assert (placed.href, placed.why) == ("", "stays in the store: withheld, since it holds path")
    exported = export_bundle(store, tmp_path / "public.tar", Filters(public_only=True))
    assert exported.omitted[unread.sha256] == "k.ptx is withheld, since it holds path"
    assert b".b8 106" not in unpacked(tmp_path / "public.tar")


def test_what_was_published_before_is_shown_and_names_nobody(recorded) -> None:
    """The files that are excused, no more and no less: each says where a rented machine had its scratch folder."""
    unclean = {sha256 for sha256, (_, text) in recorded.items() if redact(text, NOBODY)[1]}
    assert unclean == ALREADY_PUBLIC
    for sha256 in unclean:
        said = of_ptx(recorded[sha256][1])
        folder = rb"/made/cache/scratch/capture-[a-z0-9_]{8}/cache/torchinductor/[a-z0-9]{2}\0"
        assert len(re.findall(folder, said)) == 1
        assert said.count(b"/") == said.count(b"/", *re.search(rb"/tmp" + folder, said).span())


def test_a_capture_now_keeps_no_such_folder(tmp_path, recorded) -> None:
    store = EvidenceStore(tmp_path / "store", identity=NOBODY)
    for _, text in recorded.values():
        kept = store.put_bytes(text.encode(), "text/x-ptx", "k.ptx")
        assert kept.sha256 not in ALREADY_PUBLIC
        assert PublicView(store).has(kept)
