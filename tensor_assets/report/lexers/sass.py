"""SASS, NVIDIA's machine code, as nvdisasm and cuobjdump print it. (Pygments' ``sass`` is the style-sheet language.)"""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text


class SassLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    name = "SASS"
    aliases: ClassVar[list[str]] = ["nvsass"]

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Text),
            (r"//.*$", Comment.Single),
            (r"/\*[0-9a-f]{4,}\*/", Comment.Special),  # the address or the encoding
            (r"/\*.*?\*/", Comment),
            (r"^\s*\.(?:L_x_\w+|text[\w.$]*)\s*:", Name.Label),
            (r"`\(\.?[\w.$]+\)", Name.Label),
            (r"^(\s*)(\.\w[\w.]*)", bygroups(Text, Keyword.Pseudo)),
            (r'"[^"]*"', String),
            (r"@!?U?P(?:T|\d+)\b", Keyword.Pseudo),
            (r"\b(?:U?R|U?P|B|SB)(?:\d+|Z|T)\b(?:\.(?:reuse|H[01]_H[01]|\d+|B\d|X\d+|U\d+|F\d+))*", Name.Variable),
            (r"\b(?:SR_[\w.]+|gsb\d+|desc|gdesc|c|cx)\b", Name.Builtin),
            (r"-?\b0x[0-9a-fA-F]+|-?\b\d+(?:\.\d+(?:e[+-]?\d+)?)?\b", Number),
            (r"\b[A-Z][A-Z0-9_]+(?:\.[A-Za-z0-9_]+)*", Keyword),  # opcode with its modifiers
            (r"[-+~|!*&]", Operator),
            (r"[()\[\]{},;:]", Punctuation),
            (r"[\w.@%$]+", Name),
            (r".", Text),
        ],
    }
