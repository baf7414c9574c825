"""The form an evidence file has in the store, and reading it back.

An object is named by the SHA-256 of its content. It is stored as it is (``<sha256>``), or compressed
(``<sha256>.zst``). A compressed object begins with a Zstandard skippable frame that holds the SHA-256 of the
compressed bytes: some bits of a Zstandard frame do not change what it decompresses to, and a flipped one must be found
all the same. ``zstd -d`` reads such a file as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import BinaryIO

import zstandard

CHUNK = 1 << 20
SUFFIX = ".zst"

# Below this a text gains less from compression than one disk block.
COMPRESS_FROM = 4096

_SEAL_HEAD = b"\x50\x2a\x4d\x18" + (32).to_bytes(4, "little")  # skippable frame of 32 bytes
_SEAL_BYTES = len(_SEAL_HEAD) + 32


class Damaged(Exception):
    """The bytes are not what they were written as; ``str()`` says what is wrong with them."""


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def worth_compressing(media_type: str, size: int) -> bool:
    text = media_type.startswith("text/") or media_type.split("+")[-1] in ("application/json", "json", "xml")
    return text and size >= COMPRESS_FROM


def write(source: BinaryIO, target: BinaryIO, compress: bool) -> tuple[str, int]:
    """Copy ``source`` to ``target``, compressed and sealed if asked; ``target`` must be seekable then. Returns SHA-256
    and size of the content."""
    if not compress:
        return _copy(source, target)
    target.write(bytes(_SEAL_BYTES))
    sealed = _Hashing(target)
    # No context manager: leaving it would finish the frame, and hide that the disk is full.
    writer = zstandard.ZstdCompressor(level=3).stream_writer(sealed, closefd=False)  # type: ignore[arg-type]
    digest, length = _copy(source, writer)
    writer.flush(zstandard.FLUSH_FRAME)
    target.seek(0)
    target.write(_SEAL_HEAD + sealed.hash.digest())
    return digest, length


def chunks(stream: BinaryIO, compressed: bool) -> Iterator[bytes]:
    """The content of an object in pieces, its seal checked on the way. Raises Damaged at the latest after the last."""
    if not compressed:
        while piece := stream.read(CHUNK):
            yield piece
        return
    seal = stream.read(_SEAL_BYTES)
    if len(seal) < _SEAL_BYTES or not seal.startswith(_SEAL_HEAD):
        raise Damaged("its seal is not one of this store")
    sealed = _Hashing(stream)
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(sealed, closefd=False)  # type: ignore[arg-type]
        while piece := reader.read(CHUNK):
            yield piece
    except zstandard.ZstdError as error:
        raise Damaged(f"it cannot be decompressed ({error})") from error
    while sealed.read(CHUNK):  # whatever follows the frame is covered by the seal too
        pass
    if sealed.hash.digest() != seal[len(_SEAL_HEAD) :]:
        raise Damaged("its compressed bytes differ from its seal")


def content(stream: BinaryIO, sha256: str, compressed: bool, limit: int | None = None) -> bytes:
    """The whole content, checked against its name. Raises Damaged. Stops beyond ``limit`` bytes."""
    pieces: list[bytes] = []
    found, size = hashlib.sha256(), 0
    for piece in chunks(stream, compressed):
        size += len(piece)
        if limit is not None and size > limit:
            raise Damaged(f"it holds more than the {limit:,} bytes its record names")
        found.update(piece)
        pieces.append(piece)
    if found.hexdigest() != sha256:
        raise Damaged(f"its {size:,} bytes hash to {found.hexdigest()[:12]}…")
    return b"".join(pieces)


def check(stream: BinaryIO, sha256: str, compressed: bool) -> int:
    """Size of the content after checking it against its name in constant memory. Raises Damaged."""
    found, size = hashlib.sha256(), 0
    for piece in chunks(stream, compressed):
        size += len(piece)
        found.update(piece)
    if found.hexdigest() != sha256:
        raise Damaged(f"its {size:,} bytes hash to {found.hexdigest()[:12]}…")
    return size


def _copy(source: BinaryIO, target: BinaryIO) -> tuple[str, int]:
    found, size = hashlib.sha256(), 0
    while piece := source.read(CHUNK):
        found.update(piece)
        size += len(piece)
        target.write(piece)
    return found.hexdigest(), size


class _Hashing:
    """A binary file whose reads or writes are hashed as they pass."""

    def __init__(self, file: BinaryIO) -> None:
        self.hash = hashlib.sha256()
        self._file = file

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.hash.update(data)
        return data

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()
