"""What a worker wrote for a fixture, read without trusting it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tensor_worker.messages import Ran

from tensor_assets.contract.admission import Run
from tensor_assets.contract.arrays import Array, load_arrays
from tensor_assets.contract.fixtures import BuiltFixture
from tensor_assets.errors import ArraysRefused
from tensor_assets.workers.failure import crashed


class Answer(NamedTuple):
    """The outputs of one run, and where its inputs lie."""

    fixture: BuiltFixture
    outputs: Mapping[str, Array]
    inputs: Path
    changed: tuple[str, ...]  # inputs that differ in the worker's memory


def read_answer(fixture: BuiltFixture, inputs: Path, outputs: Path, ran: Ran) -> Answer:
    """Raises WorkerFailed (crashed) for a file that is none of arrays."""
    return Answer(fixture, _read(outputs, f"the outputs of {fixture.name}"), inputs, ran.changed)


def rechecked(answers: Iterable[Answer]) -> list[Run]:
    """The runs to judge, with the inputs as the ended worker left them: on disk, and in its memory."""
    return [Run(answer.fixture, answer.outputs, _inputs_after(answer)) for answer in answers]


def _inputs_after(answer: Answer) -> dict[str, object]:
    """None stands for an input that is no longer what it was."""
    try:
        found: dict[str, object] = dict(load_arrays(answer.inputs))
    except (ArraysRefused, OSError):
        return dict.fromkeys(answer.fixture.inputs)
    return found | dict.fromkeys(answer.changed)


def _read(path: Path, what: str) -> dict[str, Array]:
    try:
        return load_arrays(path)
    except (ArraysRefused, OSError) as error:
        raise crashed(f"the worker wrote {what} as no file of arrays: {error}") from None
