"""Host machine code as objdump prints it: address, encoding, mnemonic, operands."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Punctuation, Text


class DisassemblyLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    name = "Disassembly"
    aliases: ClassVar[list[str]] = ["disassembly"]

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"^([0-9a-f]+)(\s+)(<[^>\n]*>)(:)", bygroups(Comment, Text, Name.Function, Punctuation)),
            (r"^(\s*[0-9a-f]+:)(\s*)((?:[0-9a-f]{2,8} )*)(\s*)", bygroups(Comment, Text, Comment, Text), "instruction"),
            (r"^\s*[\w.$]+:", Name.Label),
            (r"^\s*\.\w+.*$", Comment),
            (r"^(\s+)(?=[a-z])", Text, "instruction"),
            (r"\n", Text),
            (r".", Text),
        ],
        "instruction": [
            (r"\n", Text, "#pop"),
            (r"(?:lock|rep[nez]*|data16)\b", Keyword),
            (r"[a-z][\w.]*", Keyword, "operands"),
            (r".", Text),
        ],
        "operands": [
            (r"(?=\n)", Text, "#pop"),
            (r"[#;].*$", Comment),
            (r"<[^>\n]*>", Name.Function),
            (r"\b(?:byte|[a-z]?word|ptr|[xyz]?mmword|dword|qword)\b", Keyword.Type),
            (
                r"%?\b(?:[re]?[abcd]x|[re]?[sd]il?|[re]?[sbi]p|r\d+[dwb]?|[xyz]mm\d+|k[0-7]|[vqdsxw]\d+)\b",
                Name.Variable,
            ),
            (r"\$?-?\b0x[0-9a-f]+\b|\$?-?\b\d+\b", Number),
            (r"[\[\](),:*+-]", Punctuation),
            (r"[^\s\[\](),:*+#;<-]+", Text),
            (r".", Text),
        ],
    }
