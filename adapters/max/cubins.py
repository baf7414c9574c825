"""What a cubin says about its kernels besides their code: registers, threads, shared memory."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from elftools.elf.elffile import ELFFile

# Attributes of the .nv.info sections, as nvdisasm and cuobjdump name them.
EIATTR_MAX_THREADS = 0x05
EIATTR_REQNTID = 0x10
EIATTR_REGCOUNT = 0x2F
_SIZED = 0x04  # format byte of an attribute with a payload; the others carry two bytes in place


@dataclass(frozen=True)
class Resources:
    registers: int | None = None
    threads: int | None = None
    shared_bytes: int | None = None


def kernel_resources(cubin: bytes) -> dict[str, Resources]:
    """By kernel name."""
    elf = ELFFile(io.BytesIO(cubin))
    symbols = [symbol.name for symbol in elf.get_section_by_name(".symtab").iter_symbols()]
    sections = {section.name: section for section in elf.iter_sections()}
    found = {name.removeprefix(".text."): Resources() for name in sections if name.startswith(".text.")}
    for name in found:
        shared = sections.get(f".nv.shared.{name}")
        found[name] = Resources(threads=_threads(sections, name), shared_bytes=shared["sh_size"] if shared else 0)
    if ".nv.info" in sections:
        for attribute, payload in _attributes(sections[".nv.info"].data()):
            if attribute == EIATTR_REGCOUNT:
                index, registers = struct.unpack("<II", payload[:8])
                if symbols[index] in found:
                    found[symbols[index]] = replace(found[symbols[index]], registers=registers)
    return found


def _threads(sections: dict[str, object], name: str) -> int | None:
    info = sections.get(f".nv.info.{name}")
    if info is None:
        return None
    for attribute, payload in _attributes(info.data()):  # type: ignore[attr-defined]
        if attribute in (EIATTR_REQNTID, EIATTR_MAX_THREADS):
            x, y, z = struct.unpack("<III", payload[:12])
            return int(x * y * z)
    return None


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset + 4 <= len(data):
        kind, attribute, size = struct.unpack_from("<BBH", data, offset)
        payload = data[offset + 4 : offset + 4 + size] if kind == _SIZED else b""
        yield attribute, payload
        offset += 4 + len(payload)
