"""The machine code MAX compiled: a relocatable host object, with the cubins of GPU kernels in its read-only data.

Everything is found by content: the object by the archive that the final dump (``NAME.mgp.mlir``) carries, a cubin by
the ELF header inside the object's data, a routine by the symbol that the executable's function table names.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from functools import cached_property

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Symbol, SymbolTableSection

from .dispatches import Dispatch, function_table, read_dispatches

ELF_MAGIC = b"\x7fELF\x02\x01"
EM_CUDA = 190

_ARCHIVE = re.compile(r'archive_\w+: "0x([0-9A-Fa-f]+)"')


@dataclass(frozen=True)
class Executable:
    object: bytes
    dispatches: tuple[Dispatch, ...]


def read_executable(text: str) -> Executable:
    """From the whole text of the final dump. Raises ValueError where it carries no machine code."""
    archive, table = _ARCHIVE.search(text), function_table(text)
    if archive is None or table is None:
        raise ValueError("MAX's final dump carries no object code")
    data = bytes.fromhex(archive[1])
    start = data.find(ELF_MAGIC)
    if start < 0:
        raise ValueError("the archive in MAX's final dump holds no ELF object")
    return Executable(object=data[start : start + elf_size(data[start:])], dispatches=read_dispatches(text, table))


def elf_size(data: bytes) -> int:
    """Bytes of the 64-bit little-endian ELF file at the start of ``data``: its tables lie at its end."""
    sections = _integer(data, 40, 8) + _integer(data, 58, 2) * _integer(data, 60, 2)
    programs = _integer(data, 32, 8) + _integer(data, 54, 2) * _integer(data, 56, 2)
    return max(sections, programs)


def find_cubins(data: bytes) -> list[tuple[int, bytes]]:
    """Offset and bytes of every CUDA ELF file inside ``data``."""
    found = []
    start = data.find(ELF_MAGIC)
    while start >= 0:
        if _integer(data, start + 18, 2) == EM_CUDA:
            found.append((start, data[start : start + elf_size(data[start:])]))
        start = data.find(ELF_MAGIC, start + 1)
    return found


def _integer(data: bytes, offset: int, size: int) -> int:
    return int.from_bytes(data[offset : offset + size], "little")


@dataclass(frozen=True)
class Function:
    """A function of the host object. ``references`` are the symbols its relocations name, in address order."""

    name: str
    code: bytes
    references: tuple[tuple[int, str], ...]  # offset in the function, symbol


class HostObject:
    """Functions, data and relocations of MAX's relocatable object."""

    def __init__(self, data: bytes) -> None:
        self._elf = ELFFile(io.BytesIO(data))
        self._table = self._elf.get_section_by_name(".symtab")
        if not isinstance(self._table, SymbolTableSection):
            raise ValueError("MAX's object has no symbol table")

    @property
    def machine(self) -> str:
        return str(self._elf.get_machine_arch())

    @cached_property
    def functions(self) -> dict[str, Function]:
        """By symbol. Relocations that name a section resolve to the symbol that covers the place."""
        return {
            symbol.name: Function(
                name=symbol.name,
                code=self._bytes(symbol),
                references=tuple(self._references(symbol)),
            )
            for symbol in self._table.iter_symbols()
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"]
        }

    def data(self, symbol_name: str) -> bytes:
        """The bytes of a data symbol; empty where there is none."""
        symbols = self._table.get_symbol_by_name(symbol_name) or []
        defined = [symbol for symbol in symbols if isinstance(symbol["st_shndx"], int) and symbol["st_size"]]
        return self._bytes(defined[0]) if defined else b""

    def closure(self, symbol: str) -> list[Function]:
        """The function and everything it reaches, depth first in the order of its references."""
        reached: dict[str, Function] = {}
        pending = [symbol]
        while pending:
            name = pending.pop()
            function = self.functions.get(name)
            if function is None or name in reached:
                continue
            reached[name] = function
            pending.extend(reference for _, reference in reversed(function.references))
        return list(reached.values())

    def _bytes(self, symbol: Symbol) -> bytes:
        section = self._elf.get_section(symbol["st_shndx"])
        if section["sh_type"] == "SHT_NOBITS":
            return b""
        return bytes(section.data()[symbol["st_value"] : symbol["st_value"] + symbol["st_size"]])

    def _references(self, function: Symbol) -> list[tuple[int, str]]:
        start, end = function["st_value"], function["st_value"] + function["st_size"]
        return [
            (offset - start, name)
            for offset, name in self._relocations.get(function["st_shndx"], ())
            if start <= offset < end
        ]

    @cached_property
    def _relocations(self) -> dict[int, list[tuple[int, str]]]:
        """For every section index: offset and symbol of each relocation, in address order."""
        found: dict[int, list[tuple[int, str]]] = {}
        for section in self._elf.iter_sections():
            if isinstance(section, RelocationSection):
                places = [(item["r_offset"], self._target(item)) for item in section.iter_relocations()]
                found[section["sh_info"]] = sorted(place for place in places if place[1])
        return found

    def _target(self, relocation: object) -> str:
        symbol = self._table.get_symbol(relocation["r_info_sym"])  # type: ignore[index]
        if symbol["st_info"]["type"] != "STT_SECTION":
            return str(symbol.name)
        place = relocation["r_addend"]  # type: ignore[index]
        return self._covering(symbol["st_shndx"], place) or self._covering(symbol["st_shndx"], place + 4)

    def _covering(self, section: int, place: int) -> str:
        for start, end, name in self._symbols_by_section.get(section, ()):
            if start <= place < end:
                return name
        return ""

    @cached_property
    def _symbols_by_section(self) -> dict[int, list[tuple[int, int, str]]]:
        found: dict[int, list[tuple[int, int, str]]] = {}
        for symbol in self._table.iter_symbols():
            if symbol["st_size"] and isinstance(symbol["st_shndx"], int):
                start = symbol["st_value"]
                found.setdefault(symbol["st_shndx"], []).append((start, start + symbol["st_size"], symbol.name))
        return found
