"""Which types of file may be published. Everything else is private, whatever its author says.

A type is public because its content is text that the scanner reads completely (``redaction.py``), or numbers in a
container that has no room for anything else. Logs, profiler captures, compiler caches and full environments are
neither, so they never leave the store.
"""

from __future__ import annotations

from typing import get_args

from tensor_worker.artifacts import Language

from tensor_assets.contract.arrays import load_arrays, save_arrays
from tensor_assets.errors import ArraysRefused

ARRAYS = "application/x-npz"
PARQUET = "application/vnd.apache.parquet"
JSON = "application/json"
LOG = "text/x-log"

PUBLIC_TEXT = frozenset(
    {"text/plain", "text/csv", "text/markdown", "text/x-c++", "image/svg+xml", JSON, "application/x-ndjson"}
) | {f"text/x-{language}" for language in get_args(Language)}  # fmt: skip
PUBLIC = PUBLIC_TEXT | {ARRAYS}


def of_language(language: Language) -> str:
    """The media type of native text: "text/x-mlir"."""
    return JSON if language == "json" else "text/plain" if language == "text" else f"text/x-{language}"


def is_private(media_type: str, name: str) -> bool:
    """Whether this type of file never leaves the store. A log or an environment is one by its name too."""
    return media_type not in PUBLIC or name.lower().endswith((".log", ".env", ".stderr", ".stdout"))


def only_numbers(data: bytes) -> bool:
    """Whether an .npz is exactly what this project writes for the numeric arrays in it: no byte more."""
    try:
        return save_arrays(None, load_arrays(data)) == data
    except ArraysRefused:
        return False
