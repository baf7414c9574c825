"""What a search has tried, written while it runs: a search that is ended by its deadline leaves what it knew."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tensor_worker.artifacts import Candidate

FILE = "candidates.jsonl"  # below the dump directory, one candidate a line


def note_candidate(dump_dir: Path, candidate: Candidate) -> None:
    """Append ``candidate``. For adapters to call wherever their compiler has measured or refused one."""
    with (dump_dir / FILE).open("ab") as file:
        file.write(msgspec.json.encode(candidate) + b"\n")


def read_candidates(dump_dir: Path) -> tuple[Candidate, ...]:
    """Every whole line; nothing where no candidate was noted. The last line may have been cut by the end."""
    path = dump_dir / FILE
    if not path.is_file():
        return ()
    found = []
    for line in path.read_bytes().splitlines():
        try:
            found.append(msgspec.json.decode(line, type=Candidate))
        except msgspec.DecodeError:
            continue
    return tuple(found)
