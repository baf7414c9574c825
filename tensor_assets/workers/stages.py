"""Takes captured stages out of a worker's dump folder into the evidence store, believing nothing they say of paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tensor_worker.artifacts import Stage
from tensor_worker.normalize import code_sha256

from tensor_assets.evidence.media import of_language
from tensor_assets.records import StageFile
from tensor_assets.workers.failure import crashed
from tensor_assets.workers.keeping import Keeper

# MAX writes 60 MB a stage before an adapter cuts out the program's own part; beyond this an adapter forgot to cut.
STAGE_BYTES = 128 * 1024 * 1024


def keep_stages(stages: Sequence[Stage], dump: Path, keeper: Keeper) -> tuple[StageFile, ...]:
    """Every stage with its native text kept. Raises WorkerFailed (crashed) for a path that is no file of the dump."""
    names = [stage.name for stage in stages]
    if len(set(names)) < len(names):
        raise crashed(f"the worker reported two stages of one name: {', '.join(sorted(names))}")
    return tuple(_keep(stage, dump.resolve(), keeper) for stage in stages)


def _keep(stage: Stage, dump: Path, keeper: Keeper) -> StageFile:
    path = _text_file(stage, stage.path, dump)
    compared = _text_file(stage, stage.compared.path, dump) if stage.compared else None
    text = (compared or path).read_text(encoding="utf-8", errors="surrogateescape")
    media_type = of_language(stage.language)
    return StageFile(
        stage=stage.name,
        text=keeper.put_file(path, media_type=media_type, name=path.name),
        fingerprint=code_sha256(text, stage.language),
        compared=keeper.put_file(compared, media_type=media_type, name=compared.name) if compared else None,
    )


def _text_file(stage: Stage, named: str, dump: Path) -> Path:
    if (path := _file_below(dump, named)) is None:
        raise crashed(f"stage {stage.name} names {named[:100]}, which is no file below its dump folder")
    if (size := path.stat().st_size) > STAGE_BYTES:
        raise crashed(f"stage {stage.name} is {size:,} bytes, more than {STAGE_BYTES:,}")
    return path


def _file_below(dump: Path, name: str) -> Path | None:
    try:
        path = (dump / name).resolve()
        return path if path.is_relative_to(dump) and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # longer than any name, a zero in it, a loop of links
        return None
