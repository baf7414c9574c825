"""MLIR in its generic and pretty forms, as MAX and Triton print it."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text


class MlirLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    name = "MLIR"
    aliases: ClassVar[list[str]] = ["mlir"]

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Text),
            (r"//.*$", Comment.Single),
            (r'"(\\.|[^"\\])*"', String),
            (r"\bloc\((?:[^()]|\([^()]*\))*\)", Comment),  # where an op came from; noise to most readers
            (r"%[\w$.-]+(?::\d+)?(?:#\d+)?", Name.Variable),
            (r"@[\w$.-]+", Name.Function),
            (r"\^[\w$.-]+", Name.Label),
            (r"#[A-Za-z_][\w$.-]*", Name.Decorator),
            (r"![A-Za-z_][\w$.-]*", Keyword.Type),
            (r"(?:tensor|memref|vector|tuple|complex)(?=<)", Keyword.Type),
            (r"\b(?:[su]?i\d+|bf16|tf32|f\d+(?:E\dM\d\w*)?|index|none)\b", Keyword.Type),
            (r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)+", Name.Builtin),  # dialect.op
            (r"\b(?:module|func|attributes|to|step|iter_args|true|false|dense|unit)\b", Keyword),
            (r"([A-Za-z_]\w*)(\s*)(=)(?!=)", bygroups(Name.Attribute, Text, Operator)),
            (r"-?\d+\.\d*(?:[eE][+-]?\d+)?|0x[0-9a-fA-F]+|-?\b\d+", Number),
            (r"->|==|[=*+?|-]", Operator),
            (r"[()\[\]{}<>,:;]", Punctuation),
            (r"[A-Za-z_]\w*", Name),
            (r".", Text),
        ],
    }
