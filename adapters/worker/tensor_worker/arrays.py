"""Arrays in .npz files, without pickle in either direction."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np


def load_arrays(path: Path | str) -> dict[str, np.ndarray]:
    """Every array of an .npz by name, C-contiguous. Raises ValueError for a file that holds pickled objects."""
    with np.load(path, allow_pickle=False) as archive:
        return {name: np.ascontiguousarray(archive[name]) for name in archive.files}


def save_arrays(path: Path | str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an uncompressed .npz. Not ``np.savez``: its keywords forbid arrays called ``file``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)
