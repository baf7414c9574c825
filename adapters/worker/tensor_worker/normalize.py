"""Takes out of native text what differs between two runs of the same compiler and is no code."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from tensor_worker.artifacts import Language

# A path: two components at least, not preceded by what would make the slash a division or a comment.
_PATH = re.compile(r"(?<![\w)\]/<*])/(?:[\w.+@~=-]+/)+[\w.+@~=-]*")
_ISO_DATE = re.compile(r"\b\d{4}-\d\d-\d\d(?:[T _]\d\d[:_]\d\d[:_]\d\d(?:[.,_]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?")
_UNIX_DATE = re.compile(
    r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d"
    r" \d\d:\d\d:\d\d(?: [A-Z]{3,4})? \d{4}\b"
)
_PID = re.compile(r"\bpid(\s*[=:_ ]?\s*)\d+", re.IGNORECASE)
# Only what looks like a pointer of this process: a shorter or other constant may be part of the code.
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+\b|\b0x(?:7[ef]|5[56])[0-9a-f]{10}\b")
_TEMPORARY = re.compile(r"\btmp(?=[a-z0-9_]*[0-9_])[a-z0-9_]{8}\b")

_COMMENT_LINE: dict[Language, tuple[str, ...]] = {
    "python": ("#",), "tvmscript": ("#",), "mojo": ("#",), "c": ("//",), "cpp": ("//",), "cuda": ("//",),
    "mlir": ("//",), "ptx": ("//",), "sass": ("//",), "llvm": (";",), "asm": ("#", "//", ";"), "egglog": (";",),
}  # fmt: skip

# What an assembler says of the source: where it lay and, in sections of their own, the same byte by byte.
_DEBUGGED: frozenset[Language] = frozenset({"ptx", "sass", "asm"})
_POSITION = re.compile(r"\s*\.(?:file|loc)\s")
_DEBUG_SECTION = re.compile(r"\s*\.section\s+\.z?debug_")
_SECTION = re.compile(r"\s*\.(?:section|pushsection|popsection|previous|text|data|bss)\b")


def normalize(text: str, language: Language) -> str:
    """``text`` without whole-line comments, trailing blanks, debug data, paths, dates, process ids and addresses."""
    markers = _COMMENT_LINE.get(language, ())
    lines = [line.rstrip() for line in text.splitlines()]
    if language in _DEBUGGED:
        lines = list(_without_debug_data(lines))
    kept = [line for line in lines if line and not (markers and line.lstrip().startswith(markers))]
    return _without_circumstances("\n".join(kept) + "\n")


def code_sha256(text: str, language: Language) -> str:
    """SHA-256 of the normalized text: what an adapter puts into a launch."""
    return hashlib.sha256(normalize(text, language).encode("utf-8", "surrogateescape")).hexdigest()


def _without_debug_data(lines: Iterable[str]) -> Iterator[str]:
    """A debug section ends with its brace, as in PTX, or where another section begins."""
    inside = False
    for line in lines:
        if _DEBUG_SECTION.match(line):
            inside = not line.endswith("}")
        elif inside and line.strip() == "}":
            inside = False
        else:
            inside = inside and not _SECTION.match(line)
            if not inside and not _POSITION.match(line):
                yield line


def _without_circumstances(text: str) -> str:
    text = _UNIX_DATE.sub("<date>", text)
    text = _PATH.sub("<path>", text)
    text = _ISO_DATE.sub("<date>", text)
    text = _PID.sub(r"pid\1<pid>", text)
    text = _ADDRESS.sub(lambda match: "at <address>" if match[0].startswith("at") else "<address>", text)
    return _TEMPORARY.sub("<temporary>", text)
