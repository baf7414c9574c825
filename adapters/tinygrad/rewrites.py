"""tinygrad's rewrite history: every named rewrite, and every pattern that matched in it, with what it replaced.

Recording is decided when tinygrad is imported and slows it down, so it happens in a process of its own, for the
program and target alone: a searched schedule is not searched again.
"""

from __future__ import annotations

import json
import linecache
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from tensor_worker.messages import Compile

SECONDS = 120  # the default program of the article needs 4
_TEXT = 140  # characters kept of a replaced expression
_ON_INDICES = ("reshape", "graph_rewrite", "check_merge", "minimum_valid", "reduce_collapse")
_PER_REWRITE = 200  # different matches kept of one rewrite

_CHILD = """
import sys
from pathlib import Path
from tensor_worker.loading import load_adapter
load_adapter(Path(sys.argv[1]))
from tensor_adapter.rewrites import record
record(sys.stdin.buffer.read())
"""


def rewrite_history(request: Compile) -> str:
    """JSON text: groups of rewrites in order. Raises RuntimeError where the recording process fails."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _CHILD, str(Path(__file__).parent)]
    done = subprocess.run(
        command, input=msgspec.json.encode(request), capture_output=True, env=environment, timeout=SECONDS, check=False
    )
    if done.returncode:
        raise RuntimeError(f"recording tinygrad's rewrites failed: {done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout.decode()


def record(message: bytes) -> None:
    """In the recording process: compile what the request names and print the history."""
    request = msgspec.json.decode(message, type=Compile)
    from . import toolchain

    toolchain.prepare(request.target)
    os.environ["VIZ"] = "-1"
    from .compiling import lower_and_compile

    lower_and_compile(request, beam=0)
    sys.stdout.write(json.dumps(_history(), indent=1, ensure_ascii=False))
    sys.stdout.flush()
    os._exit(0)  # at exit tinygrad writes the same to one fixed path, where two processes would meet


def _history() -> dict[str, Any]:
    from tinygrad.uop import ops

    groups = [
        {
            "group": key.display_name,
            "rewrites": [_rewrite(rewrite) for rewrite in rewrites if rewrite.matches and not _on_indices(rewrite)],
            "on indices": _counted(rewrites),
        }
        for key, rewrites in zip(ops.tracked_keys, ops.tracked_ctxs, strict=True)
    ]
    rules = {match[2] for rewrites in ops.tracked_ctxs for rewrite in rewrites for match in rewrite.matches}
    return {"groups": groups, "rules": {_location(rule): _source_line(rule) for rule in sorted(rules)}}


def _on_indices(rewrite: Any) -> bool:
    """Whether it only simplifies index arithmetic: patterns start thousands of those."""
    return rewrite.depth > 0 and rewrite.name.startswith(_ON_INDICES)


def _counted(rewrites: list[Any]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for rewrite in filter(_on_indices, rewrites):
        counted[rewrite.name] += len(rewrite.matches)
    return dict(counted)


def _rewrite(rewrite: Any) -> dict[str, Any]:
    """The same match on the elements of an unrolled loop is one entry with its number."""
    counted: Counter[tuple[str, str, str]] = Counter()
    for before, after, rule, _seconds in rewrite.matches:
        counted[_location(rule), _expression(before), _expression(after)] += 1
    return {
        "name": rewrite.name,
        "location": _location(rewrite.loc),
        "matched": counted.total(),
        "matches": [
            {"rule": rule, "before": before, "after": after, "times": times}
            for (rule, before, after), times in list(counted.items())[:_PER_REWRITE]
        ],
    }


def _source_line(location: tuple[str, int]) -> str:
    return linecache.getline(*location).strip()


def _location(location: tuple[str, int]) -> str:
    """``uop/symbolic.py:171``: the file inside tinygrad."""
    file, line = location
    return f"{file.rpartition('/tinygrad/')[2]}:{line}"


def _expression(number: int, depth: int = 3) -> str:
    """A recorded UOp as ``CAST half(ADD float(…))``, as deep as it stays readable."""
    text = _spelled(number, depth)
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}…"


def _spelled(number: int, depth: int) -> str:
    from tinygrad.helpers import ansistrip
    from tinygrad.uop import ops

    op, dtype, sources, argument, *_ = ops.uop_fields[number]
    name = f"{op.name} {dtype.name}" if dtype.name != "void" else op.name
    if not sources:
        return f"{name} {ansistrip(str(argument))}" if argument is not None else name
    inner = "…" if depth == 0 else ", ".join(_spelled(source, depth - 1) for source in sources)
    return f"{name}({inner})"
