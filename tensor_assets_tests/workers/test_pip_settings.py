"""uv is told of the index that pip is configured with, unless it has its own."""

from __future__ import annotations

import pytest

from tensor_assets.workers.pip_settings import index_of_pip

MIRROR, OTHER = "https://mirror.example/simple", "file:///srv/simple"


@pytest.fixture
def environ(tmp_path):
    return {"HOME": str(tmp_path), "PIP_CONFIG_FILE": str(tmp_path / "pip.conf")}


def test_pips_variable_and_its_file_name_the_index(environ, tmp_path):
    assert index_of_pip(environ) == {}
    (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = {OTHER}\n")
    assert index_of_pip(environ) == {"UV_DEFAULT_INDEX": OTHER}
    assert index_of_pip(environ | {"PIP_INDEX_URL": MIRROR}) == {"UV_DEFAULT_INDEX": MIRROR}


def test_a_users_file_counts_and_an_unreadable_one_does_not(environ, tmp_path):
    (tmp_path / ".config" / "pip").mkdir(parents=True)
    (tmp_path / ".config" / "pip" / "pip.conf").write_text(f"[install]\nindex-url = {MIRROR}\n")
    (tmp_path / "pip.conf").write_text("no ini file = [\n")
    assert index_of_pip(environ) == {"UV_DEFAULT_INDEX": MIRROR}


@pytest.mark.parametrize("own", ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_NO_INDEX", "UV_CONFIG_FILE"])
def test_an_index_of_uvs_own_comes_first(environ, own):
    assert index_of_pip(environ | {"PIP_INDEX_URL": MIRROR, own: "1"}) == {}


def test_uvs_own_file_comes_first(environ, tmp_path):
    (tmp_path / ".config" / "uv").mkdir(parents=True)
    (tmp_path / ".config" / "uv" / "uv.toml").write_text("no-index = true\n")
    assert index_of_pip(environ | {"PIP_INDEX_URL": MIRROR}) == {}
