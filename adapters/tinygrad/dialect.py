"""What tinygrad 0.13 and 0.14 say differently. Nothing else in this adapter knows of more than one version."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tinygrad.device import Buffer
from tinygrad.runtime.support.elf import elf_loader
from tinygrad.uop.ops import UOp


def code_of(program: UOp) -> tuple[Sequence[UOp], str, bytes]:
    """Linearized UOps, source and binary of a program: counted from its end, since 0.13 has a device behind the AST."""
    lines, source, binary = program.src[-3:]
    return lines.src, str(source.arg), bytes(binary.arg)


def elements(uop: UOp) -> int:
    """How many elements it has, at most; ``UOp.max_numel`` is new in 0.14."""
    return int(math.prod(uop.max_shape))


def shape_of(uop: UOp) -> tuple[int, ...]:
    """Empty for a UOp that has none: a SINK, and what 0.13 alone has below a buffer, DEVICE and UNIQUE."""
    return tuple(int(size) for size in uop._shape or ())


def text_section(binary: bytes) -> bytes:
    """The machine code of the CPU device's binary: a relocatable object, or in 0.13 the image that was loaded of it."""
    if not binary.startswith(b"\x7fELF"):
        return binary
    _, sections, _ = elf_loader(binary)
    return bytes(next(section.content for section in sections if section.name == ".text"))


def fill(buffer: Buffer, content: memoryview) -> None:
    """Copy ``content`` into an allocated buffer; ``Buffer.copyin`` became ``copy_from`` another buffer in 0.14."""
    target: Any = buffer
    if hasattr(target, "copy_from"):
        target.copy_from(Buffer("PYTHON", buffer.size, buffer.dtype, opaque=content))
    else:
        target.copyin(content)
