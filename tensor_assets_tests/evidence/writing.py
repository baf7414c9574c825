"""A writer that never stops, run as a process of its own by the tests of faults: ``writing.py STORE SEED``.

Every record names fresh evidence, evidence that others keep too, and sometimes its predecessor, so that some records
are superseded for good; each id is printed once it is filed.
"""

from __future__ import annotations

import itertools
import random
import sys

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import CaptureRecord, Key, Outcome
from tensor_assets_tests.evidence.samples import NOBODY, provenance


def write_forever(url: str, seed: int) -> None:
    store, chance = EvidenceStore(url, identity=NOBODY), random.Random(seed)
    parents: tuple[str, ...] = ()
    for number in itertools.count():
        text = "".join(f"%{n} = {chance.random()}\n" for n in range(chance.choice((3, 400))))
        own = store.put_bytes(text.encode(), "text/x-mlir", "own.mlir")
        shared = store.put_bytes(b"shared %d\n" % chance.randrange(20) * 600, "text/plain", "shared.txt")
        record = CaptureRecord(
            key=Key(workload=f"w{number % 5}", compiler=f"c{seed}"),
            outcome=Outcome(status="crashed", reason=str(number), log=own),
            cache=shared,
            provenance=provenance(*parents[: chance.randrange(2)]),
        )
        parents = (store.put(record),)
        print(parents[0], flush=True)


if __name__ == "__main__":
    write_forever(sys.argv[1], int(sys.argv[2]))
