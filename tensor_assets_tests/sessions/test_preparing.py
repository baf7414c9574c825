"""How many processes a host has room for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tensor_assets.sessions import preparing

GIB = 1 << 30


@pytest.mark.parametrize(
    ("limit", "current", "stat", "free"),
    [
        (str(16 * GIB), 15 * GIB, f"anon {GIB}\nfile {14 * GIB}\ninactive_file {13 * GIB}\n", 14 * GIB),
        (str(16 * GIB), 15 * GIB, f"anon {15 * GIB}\ninactive_file 0\n", GIB),
        (str(16 * GIB), 15 * GIB, "", GIB),
        (str(100 * GIB), 0, "inactive_file 0\n", 64 * GIB),
        ("max", 15 * GIB, "inactive_file 0\n", 64 * GIB),
    ],
)
def test_files_that_a_container_has_read_take_no_room_from_processes(
    tmp_path: Path, monkeypatch, limit: str, current: int, stat: str, free: int
) -> None:
    """A container that has read an environment of many GiB has them in its page cache, up to its limit."""
    for name, text in (("max", limit), ("current", str(current)), ("stat", stat)):
        (tmp_path / f"memory.{name}").write_text(text)
    monkeypatch.setattr(preparing, "CONTAINER", tmp_path)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=64 * GIB))
    assert preparing.free_bytes() == free
