"""Environments brought along as folders: for a host without a network, on which nothing can be installed.

The folder that ``TENSOR_ASSETS_PACKED`` names holds site-packages folders and ``packed.json``, which says for each
compiler which of them its worker sees, in order: ``{"tvm": ["tvm", "common"], "eager": ["common"]}``. The interpreter
is the one that runs this; what it already has installed (a torch built for this host) is seen too, last.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import msgspec

from tensor_assets.errors import SettingsError
from tensor_assets.records import Outcome
from tensor_assets.workers.adapters import KIT, AdapterFolder

_FREEZE = (
    "import importlib.metadata as m, json\n"
    "found = reversed(list(m.distributions()))\n"
    "named = ((d.metadata['Name'], d.version) for d in found)\n"
    "print(json.dumps({n.lower().replace('_', '-'): v for n, v in named if n and v}))"  # a broken one has neither
)


def packed_path(adapter: AdapterFolder, packed: Path) -> str | Outcome:
    """The ``PYTHONPATH`` of the compiler's workers; an outcome where nothing was packed for it.

    Raises SettingsError if ``packed.json`` is missing, wrong, or names a folder that is not there.
    """
    sites = _sites(packed).get(adapter.name)
    if sites is None:
        return Outcome(status="unavailable", reason=f"no environment of {adapter.name} is packed in {packed.name}")
    folders = [packed / site for site in sites]
    for folder in folders:
        if not folder.is_dir():
            raise SettingsError(
                f"{packed / 'packed.json'} at /{adapter.name}: {folder.name!r} is not a folder beside it"
            )
    return os.pathsep.join(map(str, [KIT, *folders]))


def packed_freeze(path: str) -> dict[str, str]:
    """Every distribution a worker sees: name → version. The first on the path wins, as it does for imports."""
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", _FREEZE]
    listed = subprocess.run(command, env=environment, capture_output=True, check=True)
    return dict(sorted(msgspec.json.decode(listed.stdout, type=dict[str, str]).items()))


def packed_hash(freeze: dict[str, str], toolchain: dict[str, str]) -> str:
    """Names the environment by what is in it, since no lock built it."""
    described = [platform.python_version(), sorted(freeze.items()), sorted(toolchain.items())]
    return hashlib.sha256(msgspec.json.encode(described)).hexdigest()


def _sites(packed: Path) -> dict[str, list[str]]:
    source = packed / "packed.json"
    try:
        return msgspec.json.decode(source.read_bytes(), type=dict[str, list[str]])
    except (OSError, msgspec.DecodeError) as error:
        raise SettingsError(f"{source}: {error}; it must map each compiler to its folders") from error
