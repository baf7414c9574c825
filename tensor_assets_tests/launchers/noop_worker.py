#!/usr/bin/env python3
"""A worker that does nothing, for as long as it is told to: it greets, can express no program, and notes when it was
there. Nothing but the standard library, so that what a measurement sees is the launcher's.
"""

import json
import os
import sys
import time
from pathlib import Path

ANSWERS = {
    "hello": {
        "type": "hello",
        "protocol": 1,
        "compiler": "noop",
        "version": "0",
        "versions": {},
        "toolchain": {},
        "variants": [{"name": "default", "summary": "does nothing", "targets": ["cpu", "cuda"]}],
    },
    "compile": {"type": "failed", "status": "unsupported", "reason": "this compiler can express nothing"},
    "shutdown": {"type": "bye"},
}


def main() -> None:
    born = time.time()
    control = Path(os.environ["TOY_CONTROL"])
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "compile":
            (control / f"first-line-{request['program']['workload']}-{request['target']}").write_text(str(born))
            if (control / "seconds").exists():
                time.sleep(float((control / "seconds").read_text()))
        print(json.dumps(ANSWERS[request["type"]]), flush=True)
        if request["type"] == "shutdown":
            return


if __name__ == "__main__":
    main()
