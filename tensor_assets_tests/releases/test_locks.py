"""Locks of candidates: the new pin with its hashes, everything else as it was, no address of an index."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import Outcome
from tensor_assets.releases.accepted import lock_file, release_title
from tensor_assets.releases.locks import _repinned, lock_difference, lock_with, release_in, versions_in
from tensor_assets.workers.adapters import AdapterFolder
from tensor_assets_tests.releases.indexes import NAME, folder_index, use, wheel

FRIEND, OTHER = "tiny_friend", "tiny_other"
REQUIREMENTS = """
tiny-compiler==1.0                          # the compiler
tiny.friend==1.0 ; python_version > '3'     # newer ones crash it
tiny-other
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A compiler whose 2.0 needs a friend from 1.1 on, and a package that has nothing to do with it."""
    made = {
        NAME: [
            wheel(tmp_path / "files", "1.0", requires=("tiny-friend",)),
            wheel(tmp_path / "files", "1.1", requires=("tiny-friend",)),
            wheel(tmp_path / "files", "2.0", requires=("tiny-friend>=1.1",)),
        ],
        FRIEND: [wheel(tmp_path / "files", version, name=FRIEND) for version in ("1.0", "1.1", "1.2")],
        OTHER: [wheel(tmp_path / "files", version, name=OTHER) for version in ("1.0", "1.1")],
    }
    use(monkeypatch, folder_index(tmp_path / "simple", made), tmp_path)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for group in made.values() for file in group}


@pytest.fixture
def adapter(tmp_path, files):
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "requirements.in").write_text(REQUIREMENTS)
    (folder / "requirements.lock").write_text(
        "".join(
            f"{name}==1.0 \\\n    --hash=sha256:{files[f'{name}-1.0-py3-none-any.whl']}\n"
            for name in (NAME, FRIEND, OTHER)
        ).replace("_", "-")
    )
    return AdapterFolder(
        path=folder, name="tiny", title="tiny", colour="#777777", package="Tiny.Compiler", targets=("cpu",),
        companions=("tiny_friend",),
    )  # fmt: skip


def lock_of(adapter, tmp_path, pins, **options):
    made = lock_with(adapter, pins, tmp_path / "locks", **options)
    assert not isinstance(made, Outcome), made.reason
    return made.read_text()


def test_only_the_asked_pin_moves(adapter, tmp_path, files):
    lock = lock_of(adapter, tmp_path, {"tiny_compiler": "1.1"})
    assert versions_in(lock) == {"tiny-compiler": "1.1", "tiny-friend": "1.0", "tiny-other": "1.0"}
    assert files["tiny_compiler-1.1-py3-none-any.whl"] in lock
    assert "://" not in lock
    assert "simple" not in lock


def test_a_companion_moves_where_the_new_version_needs_it(adapter, tmp_path):
    lock = lock_of(adapter, tmp_path, {"tiny-compiler": "2.0"})
    assert versions_in(lock)["tiny-friend"] in ("1.1", "1.2")
    assert release_in(adapter, lock)["tiny-compiler"] == "2.0"


def test_a_companion_alone_can_be_the_news(adapter, tmp_path):
    lock = lock_of(adapter, tmp_path, {"tiny-compiler": "1.0"}, upgrade=("tiny-friend",))
    assert release_in(adapter, lock) == {"tiny-compiler": "1.0", "tiny-friend": "1.2"}
    assert versions_in(lock)["tiny-other"] == "1.0"
    said = lock_difference(adapter.lock.read_text(), lock).splitlines()
    assert [line for line in said if line[0] in "+-"][2:] == ["-tiny-friend==1.0", "+tiny-friend==1.2"]


def test_the_same_candidate_has_the_same_lock(adapter, tmp_path):
    first = lock_with(adapter, {"tiny-compiler": "1.1"}, tmp_path / "locks")
    assert lock_with(adapter, {"tiny-compiler": "1.1"}, tmp_path / "locks") == first


def test_a_version_that_does_not_exist_is_an_outcome_with_the_resolvers_reason(adapter, tmp_path):
    said = lock_with(adapter, {"tiny-compiler": "9.9"}, tmp_path / "locks")
    assert isinstance(said, Outcome)
    assert said.reason.startswith("tiny with tiny-compiler 9.9 cannot be resolved: ")
    assert list((tmp_path / "locks").iterdir()) == []


def test_a_wheel_of_ones_own_is_pinned_by_its_hash(adapter, tmp_path):
    built = wheel(tmp_path / "built", "1.0.dev7", requires=("tiny-friend",))
    lock = lock_of(adapter, tmp_path, {"tiny-compiler": built.as_uri()})
    assert hashlib.sha256(built.read_bytes()).hexdigest() in lock
    assert versions_in(lock)["tiny-compiler"] == built.as_uri()


def test_another_pin_gives_way_where_the_new_version_cannot_do_with_it(adapter, tmp_path):
    lonely = msgspec.structs.replace(adapter, companions=())  # its friend is pinned, and no companion
    lock = lock_of(lonely, tmp_path, {"tiny-compiler": "2.0"})
    assert versions_in(lock)["tiny-friend"] in ("1.1", "1.2")
    assert versions_in(lock)["tiny-other"] == "1.0"


@pytest.mark.parametrize(
    ("release", "title"),
    [
        ({"tinygrad": "0.14.0"}, "0.14.0"),
        ({"triton": "3.9.0", "torch": "2.15.0"}, "torch 2.15.0 with triton 3.9.0"),
        ({"max": "26.7.0", "max-core": "26.7.0", "mojo": "1.2.0"}, "max 26.7.0 with mojo 1.2.0"),
        ({"max": "26.7.0", "max-core": "26.7.0"}, "26.7.0"),
        ({}, "nothing"),
    ],
)
def test_a_release_is_called_by_its_versions_in_any_order(release, title):
    assert release_title(release) == title


def test_runs_that_start_together_all_find_a_decisions_lock_whole(tmp_path):
    store = EvidenceStore(str(tmp_path / "store"))
    content = b"tiny-compiler==1.0\n" * 2000
    kept = store.put_bytes(content, "text/plain", "toy.lock.txt")
    with ThreadPoolExecutor(4) as pool:
        for cache in (tmp_path / f"cache-{place}" for place in range(20)):
            jobs = [pool.submit(lambda place: lock_file(store, kept, place).read_bytes(), cache) for _ in range(4)]
            assert {job.result() for job in jobs} == {content}
            assert len(list((cache / "locks").iterdir())) == 1


def test_a_requirement_with_extras_or_on_several_lines_is_pinned_as_a_whole():
    text = "tiny[two,one]==1.0 ; sys_platform == 'linux'\ntiny[one]==0.9 ; sys_platform != 'linux'\n"
    assert _repinned(text, {"tiny": "2.0"}, ()).splitlines() == [
        'tiny[one,two]==2.0 ; sys_platform == "linux"',
        'tiny[one]==2.0 ; sys_platform != "linux"',
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_pins_the_one_that_applies_here_is_told(order):
    pins = ["tiny==3.4 ; python_version < '3'", "tiny==3.5 ; python_version >= '3'"][::order]
    assert versions_in("".join(f"{pin} \\\n    --hash=sha256:00\n" for pin in pins)) == {"tiny": "3.5"}
