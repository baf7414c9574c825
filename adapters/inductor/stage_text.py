"""A stage before it is written: its text and what to call it."""

from __future__ import annotations

from dataclasses import dataclass

from tensor_worker.artifacts import Language, Level

OUTPUT_CODE = "output_code"


@dataclass(frozen=True)
class StageText:
    name: str
    title: str
    level: Level
    language: Language
    text: str
    produced_by: str


def kernel_stage(name: str) -> str:
    return f"kernel.{name}"
