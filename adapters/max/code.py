"""What a routine can run, as machine.py reads it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """One GPU kernel that a routine's host code holds."""

    name: str
    sass: str
    registers: int | None  # per thread
    threads: int | None  # per block, where the code fixes it
    shared_bytes: int | None  # static, per block
    instruction: str  # its strongest multiply-add; empty for one that contracts nothing
    code_sha256: str


@dataclass(frozen=True)
class RoutineCode:
    """Everything one dispatch can run."""

    symbol: str
    text: str  # disassembly of the host functions it reaches
    code_sha256: str  # of that text
    instruction: str  # most frequent multiply-add of the host code
    library_calls: tuple[str, ...]
    kernels: tuple[Kernel, ...]  # in the order the host code refers to them
    inferred: bool = False  # library_calls stand elsewhere in the host function, not in this routine's part of it
