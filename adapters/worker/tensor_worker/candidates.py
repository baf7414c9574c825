"""What a search is about to try and what it has tried, written while it runs: ended by its deadline, it leaves both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tensor_worker.artifacts import Candidate

FILE = "candidates.jsonl"  # below the dump directory, one candidate a line
GENERATED = "generated.jsonl"  # the same, of candidates that wait for their turn
NOT_TIMED = "not timed before the search was ended"


def note_generated(dump_dir: Path, candidates: Iterable[Candidate]) -> None:
    """Append ``candidates``, in one write however many. For adapters to call before their compiler tries them."""
    _append(dump_dir / GENERATED, candidates)


def note_candidate(dump_dir: Path, candidate: Candidate) -> None:
    """Append ``candidate``. For adapters to call wherever their compiler has measured or refused one.

    Raises ValueError where it is called chosen, or measured and refused: a search that still runs has not chosen, and
    were it ended now, the quickest so far would be kept as beaten.
    """
    if candidate.chosen or (candidate.measured_ns is not None and candidate.refused):
        raise ValueError(f"{candidate.name}: the search still runs, so it has chosen and beaten nothing yet")
    _append(dump_dir / FILE, (candidate,))


def read_candidates(dump_dir: Path) -> tuple[Candidate, ...]:
    """What was measured or refused. The last line may have been cut by the end, and is left out then."""
    return tuple(_whole_lines(dump_dir / FILE))


def read_untimed(dump_dir: Path) -> tuple[Candidate, ...]:
    """What was generated, and neither measured nor refused by the end: found by name, as often as it was generated."""
    ended = Counter(candidate.name for candidate in read_candidates(dump_dir))
    left = []
    for candidate in _whole_lines(dump_dir / GENERATED):
        if ended[candidate.name]:
            ended[candidate.name] -= 1
        else:
            left.append(msgspec.structs.replace(candidate, refused=NOT_TIMED))
    return tuple(left)


def _append(path: Path, candidates: Iterable[Candidate]) -> None:
    with path.open("ab") as file:
        file.write(b"".join(msgspec.json.encode(candidate) + b"\n" for candidate in candidates))


def _whole_lines(path: Path) -> list[Candidate]:
    found = []
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            found.append(msgspec.json.decode(line, type=Candidate))
        except msgspec.DecodeError:
            continue
    return found
