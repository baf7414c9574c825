"""Machine code as text: how often each instruction stands in a kernel."""

from __future__ import annotations

import re
from collections import Counter

# cuobjdump writes "Function : name", nvdisasm ".text.name:" (or "//--------------------- .text.name ---…").
_KERNEL = re.compile(r"^\s*(?:Function : |\.text\.)(?P<name>[^\s:]+):?\s*$")
# "/*0a40*/  @!P0 HGMMA.64x64x16.F32 R24, …": an address, perhaps a predicate, the instruction with its modifiers.
_INSTRUCTION = re.compile(
    r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[0-9T]\s+)?(?P<opcode>[A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*)"
)
_PADDING = "NOP"  # fills the end of a kernel, executes nothing


def opcode_counts(text: str) -> dict[str, dict[str, int]]:
    """Kernel → instruction with modifiers → how often it stands in the code (not how often it runs).

    Instructions before any kernel's name are filed under "".
    """
    found: dict[str, Counter[str]] = {}
    kernel = ""
    for line in text.splitlines():
        if named := _KERNEL.match(line):
            kernel = named["name"]
        elif (instruction := _INSTRUCTION.match(line)) and instruction["opcode"] != _PADDING:
            found.setdefault(kernel, Counter())[instruction["opcode"]] += 1
    return {name: dict(counts.most_common()) for name, counts in found.items()}
