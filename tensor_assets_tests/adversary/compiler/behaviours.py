"""Wrong compilers whose arithmetic is right, and whose answer is still not the answer."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np

from .arithmetic import Array
from .implementation import Compiled

LATE_SECONDS = 0.03


class TailTileMissing(Compiled):
    """Writes whole tiles of rows only."""

    def write(self, answer: Mapping[str, Array]) -> None:
        for name, array in answer.items():
            self.results[name][: self.tail(len(array))] = array[: self.tail(len(array))]

    def tail(self, rows: int) -> int:
        """The first row, among those here, of the tile that is not whole."""
        end = self.first_row + rows
        tile = 64 if end > 64 else 3
        return max(end - end % tile - self.first_row, 0)


class TailTileCut(TailTileMissing):
    """Pads the last tile with zeros, and writes the padding over what was computed."""

    def write(self, answer: Mapping[str, Array]) -> None:
        super().write(answer)
        for name, array in answer.items():
            self.results[name][self.tail(len(array)) :] = 0


class BlockUnwritten(Compiled):
    """Leaves out one block in the middle."""

    def write(self, answer: Mapping[str, Array]) -> None:
        for name, array in answer.items():
            rows, columns = (slice(size // 4, size // 2) for size in array.shape)
            kept = self.results[name][rows, columns].copy()
            self.results[name][:] = array
            self.results[name][rows, columns] = kept


class Stale(Compiled):
    """One invocation behind: hands out what the last one found."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.found = self.outputs()

    def invoke(self) -> None:
        self.write(self.found)
        self.found = self.arithmetic.outputs(self.memory)


class Replay(Compiled):
    """Computes once, then replays the answer for as long as the inputs are where they were."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.seen: dict[tuple[int, ...], dict[str, Array]] = {}

    def invoke(self) -> None:
        pointers = tuple(array.ctypes.data for array in self.memory.values())
        if pointers not in self.seen:
            self.seen[pointers] = self.arithmetic.outputs(self.memory)
        self.write(self.seen[pointers])


class Constant(Compiled):
    """Has one answer for everything."""

    def write(self, answer: Mapping[str, Array]) -> None:
        for result in self.results.values():
            result.fill(1)


class InputMutated(Compiled):
    """Uses the caller's memory as its own scratch."""

    def upload(self, inputs: Mapping[str, Array]) -> None:
        super().upload(inputs)
        self.given = dict(inputs)

    def invoke(self) -> None:
        super().invoke()
        for array in self.given.values():
            array.flat[0] += 1


class InputSpoiled(Compiled):
    """Uses the device's copy of the inputs as scratch: right until it is invoked again."""

    def invoke(self) -> None:
        super().invoke()
        for array in self.memory.values():
            array *= 0.5


class WrongDtype(Compiled):
    """Returns FP32."""

    def outputs(self) -> dict[str, Array]:
        return {name: array.astype(np.float32) for name, array in super().outputs().items()}


class StoredTransposed(Compiled):
    """Returns column-major memory as if it were row-major."""

    def outputs(self) -> dict[str, Array]:
        return {name: array.T.reshape(-1).reshape(array.shape) for name, array in super().outputs().items()}


class WrongStrides(Compiled):
    """Returns its row-major results with the strides of column-major ones."""

    def outputs(self) -> dict[str, Array]:
        return {name: array.reshape(-1).reshape(array.shape, order="F") for name, array in super().outputs().items()}


class ZeroSize(Compiled):
    """Returns no rows."""

    def outputs(self) -> dict[str, Array]:
        return {name: array[:0] for name, array in super().outputs().items()}


class LateWrite(Compiled):
    """Comes back from the wait before its results are there."""

    def invoke(self) -> None:
        answer = self.arithmetic.outputs(self.memory)
        writer = threading.Timer(LATE_SECONDS, self.write, [answer])
        writer.daemon = True
        writer.start()


class Accumulating(Compiled):
    """Adds to a workspace that is clean only once."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.workspace = {name: np.zeros_like(result) for name, result in self.results.items()}

    def invoke(self) -> None:
        for name, array in self.arithmetic.outputs(self.memory).items():
            with np.errstate(all="ignore"):
                self.workspace[name] += array
        self.write(self.workspace)


class Counting(Compiled):
    """Right five times, then one more than the answer: a counter that was to end a warm-up."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.invocations = 0

    def invoke(self) -> None:
        self.invocations += 1
        super().invoke()
        if self.invocations > 5:
            for result in self.results.values():
                result += 1
