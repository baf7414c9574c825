"""Installation, places, index, workloads, code location: what is wrong is named, with what mends it."""

from __future__ import annotations

import functools
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from tensor_assets.doctor import index, installation, places, workloads
from tensor_assets.doctor.findings import Finding


def states(findings) -> list[str]:
    return [finding.state for finding in findings]


def failed(findings) -> Finding:
    (found,) = [finding for finding in findings if finding.state == "fail"]
    assert found.remedy
    assert "\n" not in found.message
    return found


def test_an_old_python_is_refused():
    assert failed([installation.check_python((3, 10, 9), "/usr")]).message.startswith("Python 3.10.9")
    assert installation.check_python((3, 11, 0), "/usr").state == "ok"


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    folder = tmp_path / "locks"
    folder.mkdir()
    (folder / "runtime.lock").write_text(
        "one==1.0 \\\n    --hash=sha256:00\ntwo==2.0 ; sys_platform == 'never' \\\n    --hash=sha256:00\n"
    )
    (folder / "test.lock").write_text("one==1.0 \\\n    --hash=sha256:00\nthree==3.0 \\\n    --hash=sha256:00\n")
    return folder


def test_packages_are_compared_with_the_nearest_lock(locks):
    assert installation.check_packages({"one": "1.0"}, locks).message == "1 packages as runtime.lock says"
    assert installation.check_packages({"one": "1.0", "three": "3.0"}, locks).message.endswith("test.lock says")
    other = installation.check_packages({"one": "1.1"}, locks)
    assert (other.state, other.remedy) == ("warn", ".ci/setup runtime")
    assert "one 1.1" in other.message
    assert "one==1.0" in failed([installation.check_packages({}, locks)]).message
    assert installation.check_packages({}, locks / "none").state == "fail"


def test_the_projects_own_locks_are_read():
    pins = {pin.name for pin in installation.pinned(installation.LOCKS / "runtime.lock")}
    assert {"dagster", "numpy", "uv"} <= pins


def test_a_folder_that_takes_no_file(settings, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    found = failed(places.check_places(settings, tmp_path / "home"))
    assert (found.subject, "TENSOR_ASSETS_CACHE" in found.remedy) == ("cache", True)


def test_a_look_leaves_nothing_behind(settings, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    assert set(states(places.check_places(settings, tmp_path / "home"))) == {"ok"}
    assert places.check_store(settings.store).state == "ok"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_store_of_another_layout(settings):
    Path(settings.store).mkdir()
    (Path(settings.store) / "store.json").write_text("{}")
    assert "another layout" in failed([places.check_store(settings.store)]).message


def test_a_store_that_nobody_serves():
    assert places.check_store("memory://doctor").state == "ok"
    assert failed([places.check_store("nosuch://bucket/store")]).subject == "store"
    found = failed([places.check_store("ssh://nobody@127.0.0.1:9/store")])
    assert "127.0.0.1" in found.message


def test_a_full_disk(settings):
    assert failed(places.check_disks(settings, least=10**18)).remedy.startswith("tensor-assets gc")
    assert set(states(places.check_disks(settings, least=1, building=10**18))) == {"warn"}
    assert set(states(places.check_disks(settings, least=1, building=1))) == {"ok"}


def test_an_index_that_does_not_answer(tmp_path):
    nowhere = {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "PATH": ""}
    assert "127.0.0.1:9" in failed([index.check_index(True, nowhere, seconds=60)]).message
    assert index.check_index(False, nowhere, seconds=60).state == "warn"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """A package index on this host with the one wheel that is asked for."""
    wanted = next(installation.pinned(installation.LOCKS / "bootstrap.lock"))
    version = next(iter(wanted.specifier)).version
    folder = tmp_path / "simple" / "uv"
    folder.mkdir(parents=True)
    name = f"uv-{version}-py3-none-any.whl"
    _wheel(folder / name, "uv", version)
    (folder / "index.html").write_text(f'<!DOCTYPE html><a href="{name}">{name}</a>')
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()


@pytest.mark.parametrize("variable", ["UV_DEFAULT_INDEX", "PIP_INDEX_URL"])  # as environments are installed
def test_an_index_that_answers(served, tmp_path, variable):
    found = index.check_index(True, {variable: served, "HOME": str(tmp_path)}, seconds=60)
    assert found.state == "ok", found.message


def test_the_index_of_pip_that_does_not_answer(tmp_path):
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "HOME": str(tmp_path)}
    assert "127.0.0.1:9" in failed([index.check_index(True, nowhere, seconds=60)]).message


def test_wrong_manifests_are_all_named(settings, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "broken.json").write_text("{")
    (folder / "gemm.json").write_bytes((settings.workloads[0] / "gemm.json").read_bytes())
    settings = msgspec.structs.replace(settings, workloads=(*settings.workloads, folder, tmp_path / "none"))
    found = list(workloads.check_workloads(settings))
    assert states(found) == ["fail", "fail", "fail"]
    assert "none is no folder" in found[0].message
    assert found[1].remedy == f"tensor-assets workload check {folder / 'broken.json'}"
    assert "one name" in found[2].message


def test_the_checkouts_workloads_are_right(settings):
    (found,) = workloads.check_workloads(settings)
    assert (found.state, found.message) == ("ok", "20 workloads at 7 shapes")
    assert failed(workloads.check_workloads(msgspec.structs.replace(settings, workloads=()))).subject == "workloads"


BROKEN = {
    "raises": "raise RuntimeError('no such compiler')",
    "nothing": "",
    "unbound": (
        "import dagster as dg\n"
        "@dg.asset(required_resource_keys={'missing'})\n"
        "def a(): ...\n"
        "defs = dg.Definitions(assets=[a])\n"
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_code_location_that_does_not_load(name, tmp_path, monkeypatch):
    module = f"location_that_{name}"
    (tmp_path / f"{module}.py").write_text(BROKEN[name])
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert module in failed([workloads.check_location(module)]).message
    finally:
        sys.modules.pop(module, None)


def test_the_code_location_loads():
    found = workloads.check_location()
    assert found.state == "ok", found.message


def _wheel(path: Path, name: str, version: str) -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
