"""Watches a BEAM search: every candidate with its time or why it has none, in the order in which they were tried."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import TimeoutError as TookTooLong
from pathlib import Path
from typing import Any

from tensor_worker.artifacts import Candidate, Search
from tensor_worker.candidates import NOT_TIMED, note_candidate, note_generated
from tinygrad.codegen.opt import search as beam

from .beside import processes_beside
from .spelling import spell

# A worker has 600 s for compiling, looking and running its fixtures; a search that takes more than this is cut short,
# keeps the best it has, and says so.
SECONDS = 300.0
SCOPE = "BEAM over each kernel: compiling and timing candidates, in this process alone"
SCOPE_BESIDE = "BEAM over each kernel: candidates compiled in {} processes as tinygrad does, and timed in one"


class BeamWatch:
    """Records a search; what it notes below the dump directory survives a killed worker.

    With ``processes``, so many compile candidates beside this one, as tinygrad does by itself. That is for a device,
    whose clock does not mind busy processors; without a device they would spoil what is timed.
    """

    def __init__(self, dump_dir: Path, seconds: float = SECONDS, processes: int = 0) -> None:
        self._dump_dir, self._seconds, self._processes = dump_dir, seconds, processes
        self._started = time.monotonic()
        self._kernel = -1
        self._tried: list[dict[str, Any]] = []
        self._numbers: dict[tuple[int, tuple[Any, ...]], int] = {}  # by kernel and opts, as they were generated
        self._chosen: dict[int, tuple[Any, ...]] = {}  # by kernel
        self._ended = 0.0
        self._refusal = ""
        self._pending: tuple[Any, ...] | None = None  # compiled, not yet timed
        self._pool: Any = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While open, tinygrad's search goes through this watch. Raises what the search raises."""
        with processes_beside(self._processes) as pool:
            self._pool = pool
            names = ["beam_search", "_time_program"]
            # A process beside this one takes tinygrad's own function, which it finds by its name.
            names += ["get_worker_pool"] if pool is not None else ["_try_compile", "to_program"]
            self._originals = {name: getattr(beam, name) for name in names}
            self._started = time.monotonic()
            try:
                for name in names:
                    setattr(beam, name, getattr(self, f"_{name.lstrip('_')}"))
                yield
            finally:
                for name, original in self._originals.items():
                    setattr(beam, name, original)
                self._ended = time.monotonic()

    def search(self) -> Search:
        timed = [entry for entry in self._tried if entry["seconds"] is not None]
        skipped = sum(entry["refused"] == NOT_TIMED for entry in self._tried)
        censored = f"stopped after {self._seconds:.0f} s with {skipped} candidates of that round untried"
        return Search(
            scope=SCOPE if self._pool is None else SCOPE_BESIDE.format(self._processes),
            tried=len(timed),
            seconds=(self._ended or time.monotonic()) - self._started,
            candidates=tuple(map(self._candidate, self._tried)),
            censored=censored if skipped else "",
            untimed=skipped,
        )

    def _candidate(self, entry: dict[str, Any]) -> Candidate:
        chosen = entry["seconds"] is not None and entry["opts"] == self._chosen.get(entry["kernel"])
        return _candidate(entry, chosen=chosen, refused="" if chosen else entry["refused"] or "slower")

    def _left(self) -> float:
        return self._started + self._seconds - time.monotonic()

    def _note_pending(self) -> None:
        if self._pending is not None:
            self._note(self._pending, None, "the same binary as an earlier candidate, or 1000 times the arithmetic")
        self._pending = None

    def _note_generated(self, generated: Iterable[tuple[Any, ...]]) -> None:
        """Before they are compiled: a worker that is killed meanwhile leaves what it was about to try."""
        entries = [self._entry(opts, None, NOT_TIMED) for opts in generated]
        note_generated(self._dump_dir, [_candidate(entry, chosen=False, refused=NOT_TIMED) for entry in entries])

    def _note(self, opts: tuple[Any, ...], seconds: float | None, refused: str) -> None:
        entry = self._entry(opts, seconds, refused)
        note_candidate(self._dump_dir, _candidate(entry, chosen=False, refused=refused))
        self._tried.append(entry)

    def _skip(self, opts: tuple[Any, ...]) -> None:
        """It was noted as generated, and stays untried."""
        self._tried.append(self._entry(opts, None, NOT_TIMED))

    def _entry(self, opts: tuple[Any, ...], seconds: float | None, refused: str) -> dict[str, Any]:
        number = self._numbers.setdefault((self._kernel, opts), len(self._numbers))
        return {"kernel": self._kernel, "number": number, "opts": opts, "seconds": seconds, "refused": refused}

    # What stands in for tinygrad's functions of the same name.

    def _beam_search(self, schedule: Any, *arguments: Any, **options: Any) -> Any:
        self._kernel += 1
        best = self._originals["beam_search"](schedule, *arguments, **options)
        self._note_pending()
        self._chosen[self._kernel] = tuple(best.applied_opts)
        return best

    def _to_program(self, *arguments: Any, **options: Any) -> Any:
        """The search swallows a failed compilation; its words are wanted."""
        try:
            return self._originals["to_program"](*arguments, **options)
        except Exception as error:
            self._refusal = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            raise

    def _try_compile(self, numbered: tuple[int, Any]) -> tuple[int, Any] | None:
        self._note_pending()
        opts = tuple(numbered[1].applied_opts)
        self._note_generated([opts])
        if self._left() < 0:
            self._skip(opts)
            return numbered[0], None
        self._refusal = ""
        number, compiled = self._originals["_try_compile"](numbered)
        if compiled is None:
            self._note(opts, None, self._refusal or "took too long to compile, or has too many UOps")
        else:
            self._pending = opts
        return number, compiled

    def _get_worker_pool(self) -> BeamWatch:
        return self

    def imap_unordered(
        self, compile_one: Callable[[tuple[int, Any]], Any], numbered: Iterable[tuple[int, Any]]
    ) -> Iterator[tuple[int, Any]]:
        """A pool's, for one round of the search: what was compiled, as it comes, until the time is over."""
        assert self._pool is not None, "tinygrad asks for a pool only where there is one"
        candidates = list(numbered)
        waiting = {number: tuple(scheduler.applied_opts) for number, scheduler in candidates}
        self._note_generated(waiting.values())
        compiled = self._pool.imap_unordered(compile_one, candidates)
        while waiting:
            try:
                number, program = compiled.next(timeout=max(0.0, self._left()))
            except TookTooLong:
                break
            opts = waiting.pop(number)
            if program is None:
                self._note(opts, None, "did not compile, took too long to, or has too many UOps")
            else:
                self._pending = opts
            yield number, program
            self._note_pending()
        for opts in waiting.values():
            self._skip(opts)

    def _time_program(self, program: Any, variables: dict[str, int], *arguments: Any, **options: Any) -> list[float]:
        opts, self._pending = self._pending or (), None
        try:
            times = self._originals["_time_program"](program, variables, *arguments, **options)
        except Exception as error:
            self._note(opts, None, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
            raise
        self._note(opts, min(times), "")
        return times


def _candidate(entry: dict[str, Any], *, chosen: bool, refused: str) -> Candidate:
    return Candidate(
        name=f"kernel {entry['kernel'] + 1}, candidate {entry['number'] + 1}",
        chosen=chosen,
        parameters={
            "kernel": entry["kernel"],
            **{f"opt {index}": spell(opt) for index, opt in enumerate(entry["opts"])},
        },
        measured_ns=None if entry["seconds"] is None else entry["seconds"] * 1e9,
        refused=refused,
    )
