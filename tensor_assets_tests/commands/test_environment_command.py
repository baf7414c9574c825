"""`tensor-assets environment`: builds what is asked for, says what cannot be had."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tensor_assets.commands.environment import environment


@pytest.fixture
def adapters(tmp_path, monkeypatch):
    """Two compilers: one needs nothing, the other a program that no system has."""
    monkeypatch.setenv("TENSOR_ASSETS_ADAPTERS", str(tmp_path / "adapters"))
    monkeypatch.setenv("TENSOR_ASSETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SYSTEM_PACKAGES", "0")
    tool = {"command": ["no-such-cc"], "debian": "nosuchcc", "why": "compiles"}
    for name, system in {"plain": [], "needy": [tool]}.items():
        folder = tmp_path / "adapters" / name
        folder.mkdir(parents=True)
        manifest = {"name": name, "title": name, "colour": "#777777", "package": "", "targets": ["cpu"]}
        (folder / "adapter.json").write_text(json.dumps(manifest | {"system": system}))
        (folder / "requirements.lock").write_text("# nothing\n")
    return tmp_path


def test_one_is_built_where_it_says(adapters):
    done = CliRunner().invoke(environment, ["plain"])
    assert done.exit_code == 0, done.output
    (told,) = [line for line in done.stdout.splitlines() if line.startswith("plain: ")]
    folder = told.removeprefix("plain: ")
    assert folder.startswith(str(adapters / "cache" / "environments"))


def test_what_cannot_be_had_is_told_and_the_rest_is_built(adapters):
    done = CliRunner().invoke(environment, [])
    assert done.exit_code == 1
    assert "needy: unavailable: no-such-cc is not installed" in done.stdout
    assert "nosuchcc" in done.stdout
    assert list((adapters / "cache" / "environments").glob("*/.complete"))


def test_an_unknown_compiler_is_refused(adapters):
    refused = CliRunner().invoke(environment, ["nvcc"])
    assert "compiler 'nvcc' is not defined (have: needy, plain)" in str(refused.exception)
