"""``python -m tensor_worker FOLDER``: serve the adapter in FOLDER on stdin and stdout."""

from __future__ import annotations

import sys
from pathlib import Path

from tensor_worker.channel import Channel
from tensor_worker.serve import serve


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0], "adapter.py").is_file():
        print("usage: python -m tensor_worker FOLDER   (FOLDER holds an adapter.py)", file=sys.stderr)
        return 2
    serve(Path(arguments[0]), Channel.of_process())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
