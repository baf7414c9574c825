"""Writes a stage's native text where the orchestrator looks for it."""

from __future__ import annotations

from pathlib import Path

from tensor_worker.artifacts import Compared, Excerpt, Language, Level, Stage

SUFFIXES: dict[Language, str] = {
    "python": "py", "mlir": "mlir", "tvmscript": "py", "egglog": "egg", "json": "json", "c": "c", "cpp": "cpp",
    "cuda": "cu", "llvm": "ll", "ptx": "ptx", "sass": "sass", "asm": "s", "mojo": "mojo", "text": "txt",
}  # fmt: skip


def write_stage(
    dump_dir: Path,
    name: str,
    title: str,
    level: Level,
    language: Language,
    text: str,
    produced_by: str,
    excerpt: Excerpt | None = None,
    compared: tuple[str, str] | None = None,
) -> Stage:
    """Write ``text`` to ``stages/NAME.SUFFIX`` below ``dump_dir``. ValueError where ``name`` cannot be a file's.

    ``compared``: the text by which it is compared with that of another run, and why (artifacts.Compared).
    """
    if not name or not all(character.isalnum() or character in "._-" for character in name) or name[0] == ".":
        raise ValueError(f"{name!r} is no stage name: letters, digits, dots, dashes and underscores")
    return Stage(
        name=name,
        title=title,
        level=level,
        language=language,
        path=_write(dump_dir, f"{name}.{SUFFIXES[language]}", text),
        produced_by=produced_by,
        excerpt=excerpt,
        compared=compared
        and Compared(path=_write(dump_dir, f"{name}.compared.{SUFFIXES[language]}", compared[0]), reason=compared[1]),
    )


def _write(dump_dir: Path, name: str, text: str) -> str:
    path = Path("stages") / name
    (dump_dir / path).parent.mkdir(parents=True, exist_ok=True)
    # newline="" keeps the native text byte for byte; surrogateescape keeps what was no UTF-8 to begin with.
    (dump_dir / path).write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
    return path.as_posix()
