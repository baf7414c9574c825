"""``python -m tensor_worker FOLDER``: serve the adapter in FOLDER on stdin and stdout."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tensor_worker.channel import Channel
from tensor_worker.serve import serve


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0], "adapter.py").is_file():
        print("usage: python -m tensor_worker FOLDER   (FOLDER holds an adapter.py)", file=sys.stderr)
        return 2
    serve(Path(arguments[0]), Channel.of_process())
    end_at_once()
    return 0


def end_at_once() -> None:
    """Without the interpreter's teardown: compilers' exit handlers cost seconds, and some crash in them."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
