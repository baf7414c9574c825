"""Native text as static HTML: every line is a link target, colours are classes, everything is escaped."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from tensor_worker.artifacts import Language

from tensor_assets.report.lexers.disassembly import DisassemblyLexer
from tensor_assets.report.lexers.egglog import EgglogLexer
from tensor_assets.report.lexers.mlir import MlirLexer
from tensor_assets.report.lexers.sass import SassLexer

# Part of the key of kept results: raise it when the markup or a lexer changes.
VERSION = 1

OWN: dict[str, type[Lexer]] = {"asm": DisassemblyLexer, "mlir": MlirLexer, "egglog": EgglogLexer, "sass": SassLexer}
NAMES: dict[str, str] = {
    "python": "python",
    "tvmscript": "python",
    "json": "json",
    "c": "c",
    "cpp": "cpp",
    "cuda": "cuda",
    "llvm": "llvm",
    "ptx": "ptx",
    "mojo": "python",
    "text": "text",
}

# The site colours eight kinds of word. The first ancestor found decides; anything else is plain ink.
CLASSES: dict[_TokenType, str] = {
    Token.Comment: "c",
    Token.Keyword.Type: "t",
    Token.Keyword: "k",
    Token.Literal.String: "s",
    Token.Literal.Number: "m",
    Token.Name.Function: "f",
    Token.Name.Class: "f",
    Token.Name.Builtin: "f",
    Token.Name.Decorator: "d",
    Token.Name.Attribute: "d",
    Token.Name.Label: "d",
    Token.Name.Variable: "v",
}


class Highlighter:
    """Turns native text into lines of HTML; with a ``cache`` folder the same text is coloured once."""

    def __init__(self, cache: Path | None = None) -> None:
        self.cache = cache
        if cache:
            cache.mkdir(parents=True, exist_ok=True)

    def lines(self, text: str, language: Language) -> list[str]:
        """One piece of balanced HTML per line of ``text``."""
        if self.cache is None:
            return list(_lines(text, language))
        key = hashlib.sha256(f"{VERSION}\0{language}\0{text}".encode()).hexdigest()
        kept = self.cache / f"{key}.html"
        if not kept.exists():
            staged = kept.with_suffix(f".{id(text):x}")
            staged.write_text("\n".join(_lines(text, language)), encoding="utf-8")
            staged.replace(kept)
        return kept.read_text(encoding="utf-8").split("\n")


def lexer_for(language: Language) -> Lexer:
    """A lexer that keeps every character: line numbers must be those of the file."""
    options = {"stripnl": False, "ensurenl": False}
    if language in OWN:
        return OWN[language](**options)
    lexer: Lexer = get_lexer_by_name(NAMES[language], **options)
    return lexer


def _lines(text: str, language: Language) -> Iterator[str]:
    line: list[str] = []
    plain = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    for kind, value in lexer_for(language).get_tokens(plain):
        name = _class(kind)
        for position, part in enumerate(value.split("\n")):
            if position:
                yield "".join(line)
                line = []
            if part:
                line.append(_word(part, name))
    yield "".join(line)


@lru_cache(maxsize=1 << 14)  # a text repeats few words many times
def _word(text: str, name: str) -> str:
    escaped = html.escape(_visible(text))
    return f'<span class="{name}">{escaped}</span>' if name and not text.isspace() else escaped


def _visible(text: str) -> str:
    """Control characters as their pictures: a terminal escape in a kernel's name must be seen, not obeyed."""
    return text.translate(_PICTURES)


_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) != "\t"}


@cache
def _class(kind: _TokenType) -> str:
    while kind is not Token:
        if kind in CLASSES:
            return CLASSES[kind]
        kind = kind.parent
    return ""
