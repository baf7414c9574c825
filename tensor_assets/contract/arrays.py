"""Arrays in files: .npz with the same bytes on every platform, read without trusting it, hashed by meaning."""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tensor_assets.contract.reading import is_name, shown
from tensor_assets.errors import ArraysRefused

Array = NDArray[Any]
Arrays = Mapping[str, Array]

_DTYPES = ("<f2", "<f4", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "|b1")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip file can state: the bytes must not depend on the clock
_MAX_BYTES = 4 * 2**30
_MAX_ARRAYS = 256


def save_arrays(path: Path | None, arrays: Arrays) -> bytes:
    """The arrays as an uncompressed .npz in the given order, written to ``path`` when there is one.

    Raises ArraysRefused for names and dtypes that ``load_arrays`` would refuse.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            _require_name(name)
            entry = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            entry.create_system = 3  # else the byte says which platform wrote it
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, _npy(name, array))
    data = buffer.getvalue()
    if path is not None:
        path.write_bytes(data)
    return data


def load_arrays(source: Path | bytes) -> dict[str, Array]:
    """The arrays of an .npz that may come from anyone. Raises ArraysRefused, and OSError where the file cannot be read.

    Nothing is unpickled, and nothing is allocated before the sizes that the file claims are checked against its bytes.
    """
    opened: IO[bytes] = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
    with opened as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _members(archive)
        # ValueError, for one: a directory that points before the beginning, names that are no UTF-8.
        except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError, ValueError, OverflowError) as error:
            raise ArraysRefused(f"not an .npz file: {error}") from None


def hash_arrays(arrays: Arrays) -> dict[str, str]:
    """SHA-256 over dtype, shape and bytes of each array, whatever its layout in memory."""
    return {name: hash_array(array) for name, array in arrays.items()}


def hash_array(array: Array) -> str:
    header = f"{_little(array).dtype.str}{array.shape}".encode()
    return hashlib.sha256(header + np.ascontiguousarray(_little(array)).tobytes()).hexdigest()


def _little(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _npy(name: str, array: Array) -> bytes:
    plain = np.ascontiguousarray(_little(array)).reshape(array.shape)
    if plain.dtype.str not in _DTYPES:
        raise ArraysRefused(f"{shown(name)} has dtype {plain.dtype}, allowed are {', '.join(_DTYPES)}")
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, plain, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _members(archive: zipfile.ZipFile) -> dict[str, Array]:
    entries = archive.infolist()
    if len(entries) > _MAX_ARRAYS:
        raise ArraysRefused(f"{len(entries)} arrays, at most {_MAX_ARRAYS} are read")
    if sum(entry.file_size for entry in entries) > _MAX_BYTES:
        raise ArraysRefused(f"more than {_MAX_BYTES:,} bytes of arrays")
    if any(entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size for entry in entries):
        raise ArraysRefused("compressed arrays are not read: they can be larger than they look")
    found: dict[str, Array] = {}
    for entry in entries:
        name = entry.filename.removesuffix(".npy")
        _require_name(name)
        if name in found:
            raise ArraysRefused(f"{shown(name)} appears twice")
        found[name] = _read(name, archive.read(entry))
    return found


def _read(name: str, data: bytes) -> Array:
    buffer = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(buffer)
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in readers:
            raise ArraysRefused(f"{shown(name)} is .npy version {version}, 1.0 and 2.0 are read")
        shape, fortran, dtype = readers[version](buffer, max_header_size=4096)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ArraysRefused(f"{shown(name)} is no .npy array: {str(error)[:120]}") from None
    if dtype.str not in _DTYPES:
        raise ArraysRefused(f"{shown(name)} has dtype {str(dtype)[:40]}, allowed are {', '.join(_DTYPES)}")
    payload = data[buffer.tell() :]
    if any(size < 0 for size in shape) or math.prod(shape) * dtype.itemsize != len(payload):
        raise ArraysRefused(f"{shown(name)} claims shape {str(shape)[:60]} but holds {len(payload):,} bytes")
    flat = np.frombuffer(payload, dtype)
    return flat.reshape(shape, order="F" if fortran else "C").copy()


def _require_name(name: str) -> None:
    if not is_name(name):
        raise ArraysRefused(f"{shown(name)} is no name of a value")
