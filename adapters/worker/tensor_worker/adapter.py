"""What an adapter implements. The kit does the rest: protocol, files, timing loop, tracing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from tensor_worker.artifacts import Capture, Plan
from tensor_worker.messages import Compile, Greeting

Arrays = Mapping[str, np.ndarray]


class Unsupported(Exception):
    """The compiler cannot express or build this program. Only this class means the outcome ``unsupported``."""


class Unavailable(Exception):
    """Something the compiler needs is not on this machine; ``remedy`` is the command that brings it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy


class Implementation(ABC):
    """One compiled program, ready to be invoked again and again."""

    phases: dict[str, float]  # seconds by name
    device: str = "cpu"

    @abstractmethod
    def upload(self, inputs: Arrays) -> None:
        """Bring the inputs to the device and poison the outputs (NaN where the dtype has one); not timed."""

    @abstractmethod
    def invoke(self) -> None:
        """Enqueue one invocation on the uploaded inputs."""

    @abstractmethod
    def wait(self) -> None:
        """Return when everything enqueued is done."""

    @abstractmethod
    def outputs(self) -> dict[str, np.ndarray]:
        """The outputs of the last invocation, by program name, as they are: dtype, shape and order untouched."""

    @abstractmethod
    def capture(self) -> Capture:
        """Stages (files already written under the dump directory), graph, decisions, search."""

    @abstractmethod
    def plan(self) -> Plan:
        """What was selected."""

    def graph_replay(self) -> Callable[[], None] | None:
        """A call that replays one invocation from a captured device graph, or None where nothing can be captured."""
        return None

    def compilations(self) -> int:
        """How many compilations this process has done so far, for the guard against compiling while timing."""
        return 0


class Adapter(ABC):
    """One compiler."""

    name: str

    @abstractmethod
    def greeting(self) -> Greeting:
        """Versions, toolchain, variants; must not need a device."""

    @abstractmethod
    def compile(self, request: Compile, inputs: Arrays, dump_dir: Path) -> Implementation:
        """Build ``request.program``. Raises Unsupported, Unavailable; anything else counts as a crash."""
