"""How compilers and assemblers spell bytes, and a second reading of each way that knows nothing of the first."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Way(NamedTuple):
    write: Callable[[bytes], str]
    read: Callable[[str], bytes]


def of_ptx(text: str) -> bytes:
    """What the lines of one byte each say."""
    return bytes(int(number) for number in re.findall(r"\.b8 (\d+)", text))


def _numbers(text: str) -> bytes:
    return bytes(int(number, 0) & 255 for number in re.findall(r"(?<![\w.])-?(?:0x[0-9a-f]+|\d+)", text))


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def _ptx_of_llvm(data: bytes) -> str:
    return "".join(f".b8 {byte:<4}// DW_AT_name /*\n" for byte in data) + "\t}\n"


def _ptx_of_nvcc(data: bytes) -> str:
    return "$L__info_string0:\n" + "".join(f".b8 {','.join(map(str, piece))}\n" for piece in _pieces(data, 8))


def _assembler(data: bytes) -> str:
    return "".join(f"\t.byte\t{byte:#x}\t# a comment\n" for byte in data)


def _nvdisasm(data: bytes) -> str:
    """A section of data as it writes one."""
    lines = enumerate(_pieces(data, 16))
    return "".join(f"        /*{16 * n:04x}*/ \t.byte\t{', '.join(f'0x{b:02x}' for b in row)}\n" for n, row in lines)


def _words(data: bytes) -> str:
    return "\t.long " + ", ".join(f"0x{piece[::-1].hex()}" for piece in _pieces(data, 4))


def _of_words(text: str) -> bytes:
    return b"".join(int(word, 16).to_bytes(4, "little") for word in re.findall(r"0x[0-9a-f]+", text))


def _c_array(data: bytes) -> str:
    return f"char x[{len(data)}] = {{{', '.join(map(str, data))}}};"


def _characters(data: bytes) -> str:
    plain = (chr(byte) for byte in data)
    return ", ".join(f"'{one}'" if one.isprintable() and one not in "'\\" else str(ord(one)) for one in plain)


def _of_characters(text: str) -> bytes:
    return b"".join(bytes([int(n)]) if n else c.encode() for c, n in re.findall(r"'(.)'|(\d+)", text))


def _llvm_array(data: bytes) -> str:
    return f"[{', '.join(f'i8 {byte}' for byte in data)}]"


def _signed(data: bytes) -> str:
    return str([byte - 256 if byte > 127 else byte for byte in data])


def _escaped(form: str, pattern: str, base: int) -> Way:
    return Way(
        lambda data: "".join(form.format(byte) for byte in data),
        lambda text: re.sub(pattern, lambda found: chr(int(found[1], base)), text).encode("latin-1"),
    )


def _slashes(spelled: str) -> Way:
    return Way(
        lambda data: data.decode("utf-8", "surrogateescape").replace("/", spelled),
        lambda text: text.replace(spelled, "/").encode("utf-8", "surrogateescape"),
    )


def _of_digits(text: str) -> bytes:
    return bytes.fromhex(text.partition("0x")[2].rstrip('">'))


WAYS = {
    "PTX of LLVM": Way(_ptx_of_llvm, of_ptx),
    "PTX of NVCC": Way(_ptx_of_nvcc, lambda text: _numbers(text.partition(":")[2])),
    "assembler": Way(_assembler, _numbers),
    "nvdisasm": Way(_nvdisasm, lambda text: _numbers(re.sub(r"/[*].*?[*]/", "", text))),
    "assembler, words": Way(_words, _of_words),
    "C array": Way(_c_array, lambda text: _numbers(text.partition("=")[2])),
    "characters": Way(_characters, _of_characters),
    "LLVM array": Way(_llvm_array, lambda text: _numbers(text.replace("i8", ""))),
    "JSON array": Way(lambda data: str(list(data)), _numbers),
    "signed": Way(_signed, _numbers),
    "C escapes": _escaped("\\x{:02x}", r"\\x(..)", 16),
    "octal escapes": _escaped("\\{:03o}", r"\\(\d{3})", 8),
    "LLVM escapes": _escaped("\\{:02X}", r"\\(..)", 16),
    "JSON escapes": _escaped("\\u{:04x}", r"\\u(....)", 16),
    "slashes escaped": _slashes("\\/"),
    "slashes in an address": _slashes("%2F"),
    "digits": Way(lambda data: f'dense<"0x{data.hex().upper()}">', _of_digits),
    "dump": Way(lambda data: data.hex(" "), bytes.fromhex),
    "dump, by two": Way(lambda data: data.hex(" ", -2), bytes.fromhex),
    "base64": Way(lambda data: base64.b64encode(data).decode(), base64.b64decode),
}
