"""The package index that pip is configured with, for uv, which reads none of pip's settings."""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from pathlib import Path

from tensor_assets.home import home

# uv was told itself which index it has: then pip's settings do not count. Further indexes and folders of files are no
# reason; they are looked into beside it.
_OWN = {"UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_NO_INDEX"}
_OWN_FILES = ("uv/uv.toml",)


def index_of_pip(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables of uv that say what pip's ``index-url`` does, from its variables or its files; none where uv has an
    index of its own or pip has none."""
    if _OWN & environ.keys() or environ.get("UV_CONFIG_FILE") or _uv_is_configured(environ):
        return {}
    url = environ.get("PIP_INDEX_URL") or _from_files(environ)
    return {"UV_DEFAULT_INDEX": url} if url else {}


def _uv_is_configured(environ: Mapping[str, str]) -> bool:
    return any((folder / file).is_file() for folder in _config_folders(environ) for file in _OWN_FILES)


def _from_files(environ: Mapping[str, str]) -> str:
    """The ``index-url`` of the last of pip's files that has one, which is how pip reads them."""
    named = environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return ""
    own = _home(environ)
    files = [Path("/etc/pip.conf"), own / ".pip" / "pip.conf", _config_folders(environ)[1] / "pip" / "pip.conf"]
    url = ""
    for file in [*files, Path(named)] if named else files:
        parser = configparser.RawConfigParser()
        try:
            parser.read(file, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):  # pip itself will say so
            continue
        url = parser.get("install", "index-url", fallback=parser.get("global", "index-url", fallback=url))
    return url.strip()


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or home() or "/nonexistent")


def _config_folders(environ: Mapping[str, str]) -> tuple[Path, Path]:
    own = _home(environ)
    return Path("/etc"), Path(environ.get("XDG_CONFIG_HOME") or own / ".config")
