"""egglog: the term and rule language in which Luminal writes its search space."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Punctuation, String, Text

COMMANDS = (
    "datatype*|datatype|sort|function|constructor|relation|ruleset|rule|rewrite|birewrite|run-schedule|run|let|union|set"
    "|delete|subsume|check|extract|push|pop|include|saturate|seq|repeat|unstable-combined-ruleset"
).replace("*", r"\*")


class EgglogLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    name = "egglog"
    aliases: ClassVar[list[str]] = ["egglog"]

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Text),
            (r";.*$", Comment.Single),
            (r'"(\\.|[^"\\])*"', String),
            (rf"(\()({COMMANDS})(?=[\s()])", bygroups(Punctuation, Keyword)),
            (r":[A-Za-z][\w-]*", Keyword.Pseudo),
            (r"\?[\w$'-]+", Name.Variable),
            (r"-?\d+(?:\.\d+)?\b", Number),
            (r"(\()([A-Z][\w-]*)", bygroups(Punctuation, Name.Class)),
            (r"(\()([^\s()\";]+)", bygroups(Punctuation, Name.Function)),
            (r"[()\[\]{}]", Punctuation),
            (r"[^\s()\";]+", Name),
            (r".", Text),
        ],
    }
