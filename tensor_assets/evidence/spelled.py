"""Text that another text spells out: byte by byte in an assembler's data, in escapes, in hexadecimal digits, in base64.

Compilers write names of files that way: the PTX of Triton says where its source lay in lines of ``.b8 47``. A reader of
text sees numbers; who decodes them sees a home folder. So what is spelled is decoded here for the rules of redaction,
and what they find is overwritten where it stands, number by number, in the same base: no line, and no length that the
data tell of themselves, changes.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

Place = tuple[int, int]
_BLANK = "<"  # no rule matches it, and all placeholders of redacted text begin with it


class Spelled(NamedTuple):
    """``characters`` are legible, with line ends between what does not belong together. ``places``: where each of them
    stands in the text; several share a place where one number or group spells them. ``blank`` rewrites a place."""

    characters: str
    places: Sequence[Place]
    blank: Callable[[str], str]

    def hidden(self, start: int, end: int) -> list[int]:
        """Which of these characters are to be overwritten. None where all of them, and their neighbours, stand there as
        they are: other rules read them. No line end, and nothing twice."""
        around = range(max(0, start - 1), min(end + 1, len(self.places)))
        if all(self.places[index][1] - self.places[index][0] == 1 for index in around):
            return []
        return [index for index in range(start, end) if self.characters[index] not in ("\n", _BLANK)]

    def without(self, text: str, hidden: Iterable[int]) -> str:
        """``text`` with the places of these characters overwritten."""
        pieces, done = [], 0
        for start, end in sorted({self.places[index] for index in hidden}):
            pieces += [text[done:start], self.blank(text[start:end])]
            done = end
        return "".join([*pieces, text[done:]])


def readers(text: str) -> tuple[Callable[[str], Spelled], ...]:
    """The ways in which something may be spelled in ``text``, each to be read of the text as it is by then."""
    return _READERS if len(text) >= _SHORTEST_TEXT else ()


# Lists of bytes: "47, 104, 0x6f", "'/', 'h'", ".b8 47 // DW_AT_name" on lines of their own, "[i8 47, i8 104]".

_SUFFIX = r"(?:[uUlL]{1,3}|_?[ui]8)?"
_LITERAL = r"(?:0[xX][0-9a-fA-F]{1,16}+|-?\d{1,20}+|'[^'\\\n]')" + _SUFFIX
# Of bounded length, since every number of a line may have one after it that reaches to its end.
_COMMENT = r"//[^\n]{0,400}+|\#[^\n]{0,400}+|/\*[^*\n]{0,400}+\*/"
_BYTES = r"\.b8|\.u8|\.s8|\.byte|\.1byte|\.db|db|dc\.b|\.int8|u?int8(?:_t)?|char|[us]?i8|u8"
_WIDTHS = {2: ("half", "hword", "short", "value", "dw"), 4: ("word", "long", "int", "dd")}
_WIDTHS[8] = ("dword", "xword", "quad", "dq")
_WORDS = r"\.[bus](?:16|32|64)|\.(?:half|hword|short|value|word|long|int|quad|dword|xword|[248]byte)|d[wdq]"
_LABEL = r"[A-Za-z_$.][\w$.]{0,400}+:"
_BETWEEN = rf"(?:[\s,;()]|{_COMMENT}|(?:{_BYTES}|{_WORDS})(?![\w.:])|{_LABEL})"
# Begins with what one character can decide, so that the search jumps from number to number.
_FIRST = r"[-0-9'](?<![\w.'$%-][-0-9'])(?:(?<=0)[xX][0-9a-fA-F]{1,16}+|(?<=[-0-9])\d{0,20}+|(?<=')[^'\\\n]')" + _SUFFIX
_NEXT = rf"{_BETWEEN}++{_LITERAL}(?![\w.])"
_LIST = re.compile(rf"{_FIRST}(?:(?:{_NEXT}){{4,}}|(?<=[0-9a-fA-F]{{7}})(?:{_NEXT})+)")
_TOKEN = re.compile(rf"{_COMMENT}|(?P<directive>(?:{_BYTES}|{_WORDS})(?![\w.:]))|{_LABEL}|(?P<literal>{_LITERAL})")
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|-?\d+)(.*)")
_SHORTEST, _SHORTEST_TEXT = 5, 10  # bytes of a name worth hiding, characters of a text that can spell one


def _read_lists(text: str) -> Spelled:
    raw: list[str] = []
    places: list[Place] = []
    for found in _LIST.finditer(text):
        width = 0
        for token in _TOKEN.finditer(text, *found.span()):
            if (literal := token["literal"]) is None:
                width = _width(token["directive"]) if token["directive"] else width
                continue
            spelled = _bytes_of(literal, width).decode("latin-1")
            raw.append(spelled)
            places += [token.span()] * len(spelled)
        raw.append("\n")
        places.append((found.end(), found.end()))
    return Spelled(_apart(_legible("".join(raw), _SHORTEST)), places, _blank_literal)


def _width(directive: str) -> int:
    """Bytes of each number after it; 0 where they are bytes."""
    if said := re.search(r"(?:16|32|64)$|[248](?=byte)", directive):
        return int(said[0]) // 8 or int(said[0])
    return next((width for width, names in _WIDTHS.items() if directive.lstrip(".") in names), 0)


def _bytes_of(literal: str, width: int) -> bytes:
    """What a literal spells: one byte, or those of a wider word from its lowest on. A plain decimal number that is no
    byte spells nothing: in a list of times or extents it would by chance."""
    if literal[0] == "'":
        return literal[1].encode("latin-1", "replace")
    digits, _ = _parts(literal)
    value, size = int(digits, _base(digits)), max(width, (len(digits) - 1) // 2 if _base(digits) == 16 else 1)
    if value >= 1 << 8 * size or value < -(1 << 8 * size - 1):
        return b"\n"
    return (value % (1 << 8 * size)).to_bytes(size, "little")


def _parts(literal: str) -> tuple[str, str]:
    """Its digits and the suffix of its type."""
    found = _NUMBER.fullmatch(literal)
    return (found[1], found[2]) if found else (literal, "")


def _base(digits: str) -> int:
    """A leading zero says octal to an assembler, and so it does here."""
    if digits[:2] in ("0x", "0X"):
        return 16
    return 8 if digits[0] == "0" and not set(digits) & {"8", "9"} else 10


def _blank_literal(literal: str) -> str:
    """As wide as it was, its zeros kept."""
    if literal[0] == "'":
        return f"'{_BLANK}'"
    digits, suffix = _parts(literal)
    spelled = _bytes_of(literal.lstrip("-"), 8).rstrip(b"\0")
    blank = int.from_bytes(bytes(ord(_BLANK) if byte else 0 for byte in spelled), "little")
    if _base(digits) == 16:
        return f"{digits[:2]}{blank:0{len(digits) - 2}x}{suffix}"
    return f"{blank}{suffix}"


# One or two bytes of other data may stand before a name and look like a part of it.
_BEFORE_A_PATH = re.compile(r"(?<![^\n])[^/\n]{1,2}(?=/[^/\n])")


def _apart(characters: str) -> str:
    return _BEFORE_A_PATH.sub(lambda match: "\n" * len(match[0]), characters)


# Escapes: "\x2fhome", "\057home", LLVM's and MLIR's "\2Fhome", JSON's "\u002fhome" and "\/", "%2Fhome".

# Of a character that need not be escaped, or of a line's end right before a path.
_ESCAPE = re.compile(
    r"\\x[2-7][0-9a-fA-F]|\\u00[2-7][0-9a-fA-F]|\\[01][0-7]{2}|\\[2-7][0-9A-Fa-f]|%2[fF]|\\/|\\[nrt](?=/[^/*])"
)
_AROUND = 300  # characters: a line of a browser's data may be a megabyte
_UNIT = re.compile(
    r"\\(?:x|u00)(?P<c>[0-9a-fA-F]{2})|\\(?P<octal>[0-1][0-7]{2})|\\(?P<mlir>[0-9A-Fa-f]{2})|%(?P<url>2[fF])"
    r"|\\(?P<plain>/)|\\(?P<control>[nrt])|[^\n]"
)


def _read_escapes(text: str) -> Spelled:
    """What is escaped and what stands around it on its line: together they make a name."""
    characters: list[str] = []
    places: list[Place] = []
    for start, end in _around_escapes(text):
        for found in _UNIT.finditer(text, start, end):
            characters.append(_unescaped(found))
            places.append(found.span())
        characters.append("\n")
        places.append((end, end))
    return Spelled("".join(characters), places, lambda _: _BLANK)


def _around_escapes(text: str) -> Iterator[Place]:
    """Stretches of lines, none inside of another."""
    start, end = 0, -1
    for escape in _ESCAPE.finditer(text):
        if escape.end() + _AROUND > end:
            before = max(text.rfind("\n", 0, escape.start()) + 1, escape.start() - _AROUND)
            after = text.find("\n", escape.end(), escape.end() + _AROUND)
            after = after if after >= 0 else min(escape.end() + _AROUND, len(text))
            if end >= 0 and before > end:
                yield start, end
            start, end = before if end < 0 or before > end else start, after
    if end >= 0:
        yield start, end


def _unescaped(unit: re.Match[str]) -> str:
    said = str(unit[unit.lastgroup or 0])
    if unit.lastgroup in (None, "plain"):
        return said
    character = "\n" if unit.lastgroup == "control" else chr(int(said, 8 if unit.lastgroup == "octal" else 16))
    return character if character >= " " else "\n"


# Hexadecimal digits, two a byte: MLIR's dense<"0x2F68…">, a dump's "2f 68 6f" and "2f68 6f6d".

_DIGITS = re.compile(r"[0-9a-fA-F]{2}(?:[ :]?[0-9a-fA-F]{2}){6,}+(?![0-9A-Za-z])")
_PAIR = re.compile(r"[0-9a-fA-F]{2}")
_LEGIBLE_DIGITS = re.compile(r"(?:[2-7][0-9a-fA-F][ :]?){5}")
_TEXT = re.compile(r"[\0\t\n\r\x20-\x7e]*")
_DIGEST = frozenset({32, 40, 64, 96, 128})
# A longer run is legible by chance in less than one of ten million bytes, and then says nothing that a rule looks for.
_LONG_ENOUGH = 12


def _read_digits(text: str) -> Spelled:
    raw: list[str] = []
    places: list[Place] = []
    for found in _DIGITS.finditer(text):
        before = text[max(0, found.start() - 2) : found.start()]
        if (before[-1:].isalnum() and before not in ("0x", "0X")) or not _LEGIBLE_DIGITS.search(found[0]):
            continue
        pairs = [pair.span() for pair in _PAIR.finditer(text, *found.span())]
        spelled = "".join(chr(int(text[start:end], 16)) for start, end in pairs)
        shortest = _SHORTEST if _TEXT.fullmatch(spelled) else _LONG_ENOUGH
        if shortest > _SHORTEST and found[0].isalnum() and len(found[0]) in _DIGEST:
            continue
        raw += [_legible(spelled, shortest), "\n"]
        places += [*pairs, (found.end(), found.end())]
    return Spelled("".join(raw), places, lambda _: f"{ord(_BLANK):02x}")


# Base64, four letters for three bytes: only groups that spell text are looked at, whatever is around.

_QUAD = "[CDI-Za-f][ACDEFGHQSTUVWXgijklmnwyz0123][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/]"
_BASE64 = re.compile(rf"(?:{_QUAD}){{3,}}+(?:[A-Za-z0-9+/]{{2}}(?:==|[A-Za-z0-9+/]=))?")


def _read_base64(text: str) -> Spelled:
    raw: list[str] = []
    places: list[Place] = []
    for found in _BASE64.finditer(text):
        spelled = base64.b64decode(found[0]).decode("latin-1")
        raw += [spelled, "\n"]
        groups = (found.start() + index // 3 * 4 for index in range(len(spelled)))
        places += [(start, start + 4) for start in groups]
        places.append((found.end(), found.end()))
    return Spelled(_legible("".join(raw), 9), places, _blank_group)


def _blank_group(group: str) -> str:
    return base64.b64encode(_BLANK.encode() * (3 - group.count("="))).decode()


# A character of ASCII, or one of several bytes in UTF-8.
_CHARACTERS = r"(?:[\x20-\x7e]|[\xc3-\xf4][\x80-\xbf]{1,3})"


def _legible(raw: str, shortest: int) -> str:
    """``raw``, a character a byte, with line ends instead of what is no text, and of text under ``shortest`` bytes."""
    kept, done = [], 0
    for found in re.finditer(rf"{_CHARACTERS}{{{max(1, shortest // 4)},}}+", raw):
        if len(found[0]) >= shortest:
            kept += ["\n" * (found.start() - done), found[0]]
            done = found.end()
    return "".join([*kept, "\n" * (len(raw) - done)])


_READERS = (_read_lists, _read_escapes, _read_digits, _read_base64)
