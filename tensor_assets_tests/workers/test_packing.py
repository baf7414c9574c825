"""Folders for hosts without a network: whole or not there, nothing of anyone else overwritten, and they run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tensor_assets.errors import SettingsError
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import import_bundle
from tensor_assets.records import CaptureRecord, Outcome
from tensor_assets.settings import load_settings
from tensor_assets.workers import packing
from tensor_assets.workers.adapters import discover
from tensor_assets.workers.environments import build_environment
from tensor_assets.workers.installer import base_python
from tensor_assets.workers.packed import packed_freeze
from tensor_assets.workers.packing import Host, pack

HERE = ".".join(map(str, sys.version_info[:2]))


@pytest.fixture
def tiny(adapter, tmp_path, monkeypatch):
    """A compiler, and in place of the project's own locks one that pins the same wheel."""
    made = adapter()
    locks = tmp_path / "locks"
    locks.mkdir()
    for name in ("campaign", "runtime", "kit", "profilers"):
        (locks / f"{name}.lock").write_text(made.lock.read_text())
    monkeypatch.setattr(packing, "LOCKS", locks)
    return made


def test_what_was_packed_is_an_environment_there(tiny, settings, tmp_path):
    folder = tmp_path / "packed"
    assert pack([tiny], Host(python=HERE), folder) == {"tiny": None}
    brought = msgspec.structs.replace(settings, packed=folder)
    found = build_environment(tiny, brought)
    assert (found.freeze["tiny-compiler"], found.version) == ("1.2", "1.2")
    assert msgspec.json.decode((folder / "packed.json").read_bytes()) == {"tiny": ["tiny"]}


def test_the_whole_project_brings_what_the_ui_and_the_site_need(tiny, adapter, tmp_path):
    runtime = packing.LOCKS / "runtime.lock"
    (packing.LOCKS / "campaign.lock").write_text("")
    part, whole = tmp_path / "part", tmp_path / "whole"
    pack([tiny], Host(python=HERE), part)
    pack([tiny], Host(python=HERE, whole=True), whole)
    assert runtime.read_text().startswith("tiny-compiler")
    assert [list((folder / ".packages").glob("tiny_compiler.py")) != [] for folder in (part, whole)] == [False, True]
    assert (whole / "project" / "workspace.yaml").is_file()
    assert not (whole / "project" / "site" / "build").exists()


def test_a_compiler_that_the_host_has_is_not_packed_and_missed_where_it_is_not(tiny, settings, tmp_path):
    folder = tmp_path / "packed"
    other = msgspec.structs.replace(tiny, package="other-compiler")
    assert pack([other], Host(python=HERE, installed=frozenset({"tiny"})), folder) == {"tiny": None}
    assert not (folder / "tiny").exists()
    outcome = build_environment(other, msgspec.structs.replace(settings, packed=folder))
    assert outcome.status == "unavailable"
    assert outcome.reason == f"other-compiler is neither packed in packed nor installed in {sys.executable}"


def test_a_compiler_without_a_wheel_is_named_and_the_others_are_packed(tiny, adapter, tmp_path):
    broken = adapter("broken", sha256="0" * 64)
    found = pack([broken, tiny], Host(python=HERE), tmp_path / "packed")
    assert found["tiny"] is None
    assert "Hash mismatch" in str(found["broken"])
    assert msgspec.json.decode((tmp_path / "packed" / "packed.json").read_bytes()) == {"tiny": ["tiny"]}


def test_packing_again_replaces_and_nothing_of_anyone_else_is_touched(tiny, tmp_path):
    folder = tmp_path / "packed"
    pack([tiny], Host(python=HERE), folder)
    pack([tiny], Host(python="3.99"), folder)
    assert "3.99" in (folder / "tensor-assets").read_text()
    (folder / "store").mkdir()
    with pytest.raises(SettingsError, match="is no packed folder"):
        pack([tiny], Host(python=HERE), folder)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "love.txt").write_text("dear")
    with pytest.raises(SettingsError, match="is no packed folder"):
        pack([tiny], Host(python=HERE), tmp_path / "letters")
    assert (tmp_path / "letters" / "love.txt").read_text() == "dear"


def test_a_platform_that_nobody_knows_leaves_what_was_there(tiny, tmp_path):
    folder = tmp_path / "packed"
    pack([tiny], Host(python=HERE), folder)
    before = (folder / "tensor-assets").read_bytes()
    with pytest.raises(SettingsError, match="on sparc-solaris"):
        pack([tiny], Host(python=HERE, platform="sparc-solaris"), folder)
    assert (folder / "tensor-assets").read_bytes() == before
    assert [place.name for place in tmp_path.glob(".packed*")] == []


def test_another_python_is_refused_by_the_script(tiny, tmp_path):
    pack([tiny], Host(python="3.99"), tmp_path / "packed")
    said = subprocess.run([tmp_path / "packed" / "tensor-assets"], capture_output=True, text=True)
    assert said.returncode == 2
    assert "this was packed for 3.99: name another in PYTHON" in said.stderr


@pytest.mark.compilers
def test_a_campaign_runs_from_the_folder_alone_and_its_bundle_comes_home(tmp_path):
    adapters = discover(load_settings().adapters)
    folder = tmp_path / "packed"
    assert pack([adapters["tinygrad"]], Host(python=HERE), folder) == {"tinygrad": None}
    offline = ["unshare", "-n"] if os.geteuid() == 0 and _may_unshare() else []
    cell = ["--target", "cpu", "--compiler", "tinygrad", "--workload", "gemm", "--shape", "inspect"]
    places = {"PYTHON": base_python(), "HOME": str(tmp_path), "TENSOR_ASSETS_LEASE": str(tmp_path / "lease")}
    done = subprocess.run(
        [*offline, str(folder / "tensor-assets"), "campaign", *cell, "--processes", "1", "--bundle", "out.bundle"],
        env={"PATH": os.environ["PATH"], **places},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    store = EvidenceStore(str(tmp_path / "home"))
    import_bundle(store, tmp_path / "out.bundle")
    captures = [record for _, record in store.records(CaptureRecord)]
    assert [(record.key.compiler, record.outcome) for record in captures] == [("tinygrad", Outcome(status="ok"))]
    needy = subprocess.run(
        [folder / "tensor-assets", "report"], env={"PATH": os.environ["PATH"], **places}, capture_output=True
    )
    assert needy.returncode == 2
    assert b"this needs dagster, which was not brought along" in needy.stderr


def _may_unshare() -> bool:
    return subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0


def test_a_broken_distribution_beside_the_others_is_passed_over(tmp_path: Path) -> None:
    for name, text in (
        ("empty", None),
        ("broken", ""),
        ("fine", "Metadata-Version: 2.1\nName: Fine_One\nVersion: 3\n"),
    ):
        (tmp_path / f"{name}-1.dist-info").mkdir()
        if text is not None:
            (tmp_path / f"{name}-1.dist-info" / "METADATA").write_text(text)
    assert packed_freeze(str(tmp_path))["fine-one"] == "3"
