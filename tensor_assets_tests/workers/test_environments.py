"""Environments from hash-pinned locks: built once, shared by equal locks, and their failures told, not raised."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path

import msgspec
import pytest

from tensor_assets.errors import ManifestError, StoreUnwritable
from tensor_assets.records import Outcome
from tensor_assets.workers import system
from tensor_assets.workers.adapters import SystemTool, discover
from tensor_assets.workers.environments import build_environment, environment_folder
from tensor_assets.workers.exclusive import exclusive


class Keeper:
    """Remembers what it was given."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def put_file(self, path, media_type, name="", private=False):
        from tensor_assets.records import Evidence

        assert private
        self.kept[name] = path.read_bytes()
        return Evidence(sha256="0" * 64, bytes=path.stat().st_size, media_type=media_type, name=name, private=private)


def test_an_environment_holds_what_its_lock_says_and_is_built_once(adapter, settings):
    steps: list[str] = []
    first = build_environment(adapter(), settings, steps.append)
    assert (first.freeze, first.version) == ({"tiny-compiler": "1.2"}, "1.2")
    imported = subprocess.run([first.python, "-c", "import tiny_compiler as t; print(t.VERSION)"], capture_output=True)
    assert imported.stdout == b"1.2\n"
    assert first.built_seconds > 0
    assert steps[-1] == "tiny: installing 1 packages"
    steps.clear()
    again = build_environment(discover(settings.adapters)["tiny"], settings, steps.append)
    assert (again.hash, again.python, again.built_seconds, steps) == (first.hash, first.python, 0.0, [])


def test_equal_locks_share_one_environment(adapter, settings):
    first, second = build_environment(adapter("one"), settings), build_environment(adapter("two"), settings)
    assert first.python == second.python
    assert second.built_seconds == 0


def test_a_file_that_is_not_what_the_lock_pins_is_refused_with_its_log(adapter, settings):
    keeper, tiny = Keeper(), adapter(sha256="0" * 64)
    outcome = build_environment(tiny, settings, keeper=keeper)
    assert isinstance(outcome, Outcome)
    assert outcome.status == "unavailable"
    assert "hash" in outcome.reason.lower()
    assert "\n" not in outcome.reason
    assert outcome.log is not None
    assert b"uv pip sync --require-hashes" in keeper.kept["tiny-install.log"]
    assert isinstance(build_environment(tiny, settings), Outcome)


def test_an_interrupted_build_starts_again(adapter, settings):
    tiny = adapter()
    root = environment_folder(tiny, settings.cache / "environments")
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "python").write_text("half written")
    assert build_environment(tiny, settings).version == "1.2"


def test_a_second_builder_waits_says_so_and_builds_nothing(adapter, settings):
    tiny, steps = adapter(), []
    root = environment_folder(tiny, settings.cache / "environments")
    root.parent.mkdir(parents=True)
    said = threading.Event()

    def progress(step):
        steps.append(step)
        said.set()

    with exclusive(root.parent / f"{root.name}.flock", lambda: None):
        waiting = threading.Thread(target=build_environment, args=(tiny, settings, progress))
        waiting.start()
        assert said.wait(10)
        assert steps == ["tiny: waiting for another process that builds this environment"]
        assert not root.exists()
    waiting.join(60)
    assert build_environment(tiny, settings).built_seconds == 0


def test_a_cache_that_cannot_be_written_is_one_line(adapter, settings, tmp_path):
    (tmp_path / "file").write_text("")
    blocked = msgspec.structs.replace(settings, cache=tmp_path / "file" / "cache")
    with pytest.raises(StoreUnwritable, match=r"file/cache: environments cannot be written there \(Not a directory\)"):
        build_environment(adapter(), blocked)


TOOL = {"command": ["no-such-clang", "no-such-clang-19"], "debian": "no-such-clang", "why": "it compiles C"}


@pytest.mark.parametrize(
    ("environ", "root", "says"),
    [({"SYSTEM_PACKAGES": "0"}, 0, "SYSTEM_PACKAGES=0 forbids"), ({}, 1000, "installing it needs root")],
)
def test_a_missing_tool_makes_the_compiler_unavailable(adapter, settings, monkeypatch, environ, root, says):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(system.os, "geteuid", lambda: root)
    outcome = build_environment(adapter(system=[TOOL]), settings)
    assert outcome.status == "unavailable"
    assert outcome.reason.startswith("no-such-clang (or no-such-clang-19) is not installed: it compiles C; ")
    assert says in outcome.reason
    assert outcome.remedy == "apt-get install -y --no-install-recommends no-such-clang"


def fake_command(folder: Path, name: str, says: str, code: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "$0 $*" >> {folder}/calls\n{says}\nexit {code}\n')
    path.chmod(0o755)


def test_a_tool_is_installed_through_apt_as_root_and_said_so(adapter, settings, monkeypatch, tmp_path):
    """A stand-in for apt-get fails until the package lists are fetched, as on a fresh machine, then brings the tool."""
    tools = tmp_path / "tools"
    script = f"""case "$*" in
    *update) touch {tools}/updated ;;
    *install*) test -e {tools}/updated || {{ echo 'E: Unable to locate package' >&2; exit 100; }}
        printf '#!/bin/sh\\necho clang version 19.1\\n' > {tools}/no-such-clang-19; chmod +x {tools}/no-such-clang-19 ;;
    esac"""
    fake_command(tools, "apt-get", script)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    monkeypatch.delenv("SYSTEM_PACKAGES", raising=False)
    monkeypatch.setattr(system.os, "geteuid", lambda: 0)
    steps: list[str] = []
    environment = build_environment(adapter(system=[TOOL | {"variable": "CC"}]), settings, steps.append)
    assert environment.toolchain == {"no-such-clang": "clang version 19.1"}
    assert environment.variables == {"CC": str(tools / "no-such-clang-19")}
    assert steps[0].startswith("tiny: installing the system package no-such-clang (it compiles C; SYSTEM_PACKAGES=0")
    without = build_environment(adapter("plain"), settings)
    assert without.python == environment.python
    assert without.hash != environment.hash, "the toolchain shapes the code, so it is part of the environment's name"


def test_a_tool_that_another_target_needs_is_not_asked_for(adapter, settings):
    tool = TOOL | {"targets": ["cpu"]}
    assert build_environment(adapter(system=[tool]), settings, target="sm_90").version == "1.2"


def test_apt_that_fails_is_an_outcome_with_its_last_words(adapter, settings, monkeypatch, tmp_path):
    fake_command(tmp_path / "tools", "apt-get", "echo 'E: Could not resolve the mirror' >&2", code=100)
    monkeypatch.setenv("PATH", str(tmp_path / "tools"), prepend=":")
    monkeypatch.delenv("SYSTEM_PACKAGES", raising=False)
    monkeypatch.setattr(system.os, "geteuid", lambda: 0)
    outcome = build_environment(adapter(system=[TOOL]), settings)
    assert outcome.status == "unavailable"
    assert outcome.reason.endswith("apt-get could not install it: E: Could not resolve the mirror")


def test_adapters_come_in_their_declared_order(adapter, settings):
    adapter("b", order=2)
    adapter("a")
    adapter("c", order=1, system=[TOOL])
    found = discover(settings.adapters)
    assert list(found) == ["c", "b", "a"]
    assert found["c"].system == (SystemTool(**TOOL | {"command": tuple(TOOL["command"])}),)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "adapter.json").write_text("{"), "adapter.json at /:"),
        (lambda folder: (folder / "adapter.json").write_text('{"name": "tiny"}'), "missing required field `title`"),
        (lambda folder: (folder / "requirements.lock").unlink(), "requirements.lock is missing"),
        (lambda folder: shutil.move(folder, folder.with_name("other")), "'tiny' is not the folder's name 'other'"),
    ],
)
def test_a_wrong_adapter_folder_is_named(adapter, settings, spoil, says):
    adapter()
    spoil(settings.adapters / "tiny")
    with pytest.raises(ManifestError) as error:
        discover(settings.adapters)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
