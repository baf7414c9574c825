"""Progress on a terminal: a live line with the step and its time, one printed line for each step that ended."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text


class Terminal:
    """Shows steps as they are announced. Without a terminal, each step is one plain line as it begins."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False)
        self._began = time.monotonic()
        self._step = ""
        self._step_began = self._began
        self._live = Live(self, console=self.console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Terminal:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_step()
        if self.console.is_terminal:
            self._live.stop()

    def __call__(self, step: str) -> None:
        self._end_step()
        self._step, self._step_began = step, time.monotonic()
        if not self.console.is_terminal:
            self.console.print(Text(f"{self._stamp()}  {step}"), soft_wrap=True)

    def __rich__(self) -> Text:
        running = time.monotonic() - self._step_began
        return Text(f"{self._stamp()}  {self._step} … {running:.0f} s" if self._step else "")

    def _end_step(self) -> None:
        if self._step and self.console.is_terminal:
            took = time.monotonic() - self._step_began
            # As it was announced: brackets in a step ("f16[M, K]", a path's) are no markup.
            said = Text.assemble(f"{self._stamp()}  {self._step}  ", (f"{took:.1f} s", "dim"))
            self.console.print(said, soft_wrap=True)
        self._step = ""

    def _stamp(self) -> str:
        return f"[{time.monotonic() - self._began:6.1f} s]"
