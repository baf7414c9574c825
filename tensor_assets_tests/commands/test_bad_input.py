"""What a user can mend is one line, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.cli import cli
from tensor_assets.commands.campaign import _pair
from tensor_assets.errors import SettingsError, StoreUnwritable
from tensor_assets.workers.packing import Host, pack


def run(*arguments: str) -> None:
    cli.main(list(arguments), standalone_mode=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(x:\n", "SyntaxError: .* was never closed"),
        ("raise RuntimeError('no such\\nthing')\n", "RuntimeError: no such thing"),
        ("import nowhere\n", "ModuleNotFoundError: No module named 'nowhere'"),
        ("", "AttributeError: .* has no attribute 'f'"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told(tmp_path: Path, monkeypatch, text: str, said: str) -> None:
    name = f"broken_{abs(hash(text))}"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=f"^{name}:f: {said}"):
        run("workload", "from", f"{name}:f", "--inputs", "x=f16[M,K]")


def test_a_manifest_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "good_layer.py").write_text("def layer(x, w):\n    return (x @ w).relu()\n")
    monkeypatch.chdir(tmp_path)
    inputs = ("--inputs", "x=f16[M,K],w=f16[K,N]")
    with pytest.raises(StoreUnwritable, match="cannot be written: No such file or directory; name another with --out"):
        run("workload", "from", "good_layer:layer", *inputs, "--out", str(tmp_path / "nowhere" / "x.json"))


def test_a_bundle_that_cannot_be_written_is_told_before_the_campaign(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tensor_assets.commands.campaign.run_campaign", lambda *_: pytest.fail("hours of work"))
    with pytest.raises(StoreUnwritable, match=r"bundle .*: cannot be written .*name another place"):
        run("campaign", "--target", "cpu", "--bundle", str(tmp_path / "nowhere" / "x.bundle"))


@pytest.mark.parametrize("effort", ["gemm", "gemm:", ":tvm"])
def test_a_search_effort_of_another_form_is_told(effort: str) -> None:
    with pytest.raises(SettingsError, match=r"is not of the form WORKLOAD:COMPILER|is not defined"):
        _pair(Workspace(), effort)


def test_a_folder_that_packing_did_not_write_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "packed.json").write_text("{")
    with pytest.raises(SettingsError, match="is no packed folder"):
        pack([], Host(python="3.12"), tmp_path)
    assert (tmp_path / "packed.json").read_text() == "{"
