"""Writes a stage's native text where the orchestrator looks for it."""

from __future__ import annotations

from pathlib import Path

from tensor_worker.artifacts import Excerpt, Language, Level, Stage

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
) -> Stage:
    """Write ``text`` to ``stages/NAME.SUFFIX`` below ``dump_dir``. ValueError where ``name`` cannot be a file's."""
    if not name or not all(character.isalnum() or character in "._-" for character in name) or name[0] == ".":
        raise ValueError(f"{name!r} is no stage name: letters, digits, dots, dashes and underscores")
    path = Path("stages") / f"{name}.{SUFFIXES[language]}"
    (dump_dir / path).parent.mkdir(parents=True, exist_ok=True)
    # newline="" keeps the native text byte for byte; surrogateescape keeps what was no UTF-8 to begin with.
    (dump_dir / path).write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
    return Stage(
        name=name,
        title=title,
        level=level,
        language=language,
        path=path.as_posix(),
        produced_by=produced_by,
        excerpt=excerpt,
    )
