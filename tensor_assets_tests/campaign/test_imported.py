"""A capture made elsewhere, taken in from the command line: found again as its own, patched or not."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tensor_assets.campaign.capture import captures_of
from tensor_assets.campaign.imported import compiler_of
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.commands.evidence import import_
from tensor_assets.errors import BundleRefused
from tensor_assets.settings import load_settings
from tensor_assets_tests.adapters.luminal_bundles import write_bundle

DEVICE = "NVIDIA H100 80GB HBM3"
PATCH = b"--- a/site.egg\n+++ b/site.egg\n"
PATCHED = {
    "patch.diff": PATCH,
    "patch": {"sha256": hashlib.sha256(PATCH).hexdigest(), "summary": "FP16 operands"},
}


@pytest.mark.compilers
class TestFromTheCommandLine:
    @pytest.fixture(autouse=True)
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TENSOR_ASSETS_STORE", str(tmp_path / "store"))
        monkeypatch.setenv("TENSOR_ASSETS_LEASE", str(tmp_path / "lease"))

    def ask(self, *arguments: str):
        return CliRunner().invoke(import_, list(arguments))

    def found(self, shape: str) -> list[str]:
        return [stored.record.key.patch for stored in captures_of(Workspace(), "weight_view", DEVICE, shape, "luminal")]

    def test_a_folder_is_a_capture_and_is_found_again(self, tmp_path: Path) -> None:
        said = self.ask(str(write_bundle(tmp_path / "plain")))
        assert (said.exit_code, said.exception) == (0, None)
        assert f"weight_view|luminal (default-widened) on {DEVICE}, 6 stages" in said.output
        shape = json.loads((tmp_path / "plain" / "manifest.json").read_text())["program"]["shape"]
        assert self.found(shape) == [""]
        assert self.ask(str(write_bundle(tmp_path / "patched", **PATCHED))).exit_code == 0
        assert sorted(self.found(shape)) == sorted(["", PATCHED["patch"]["sha256"]])

    def test_another_device_is_refused_and_nothing_filed(self, tmp_path: Path) -> None:
        said = self.ask(str(write_bundle(tmp_path / "plain")), "--device", "NVIDIA H200")
        assert isinstance(said.exception, BundleRefused)
        assert "made on NVIDIA H100 80GB HBM3, not on NVIDIA H200" in str(said.exception)
        assert list(Workspace(msgspec.structs.replace(load_settings())).store.records()) == []


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        (None, "there is no manifest.json in it"),
        ("{", "Input data was truncated"),
        ('{"format": "zip"}', "format 'zip' is none of a capture"),
        ("{}", "missing required field `format`"),
    ],
)
def test_a_folder_that_is_no_capture_is_told_so(tmp_path: Path, manifest: str | None, complaint: str) -> None:
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(BundleRefused, match=complaint):
        compiler_of(tmp_path)
