"""The bytes of every fixture, as hashes in ``fixtures.json``. Write them anew, after a recipe was changed, with

python -m tensor_assets_tests.contract.goldens
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from tensor_assets.contract.arrays import hash_arrays
from tensor_assets_tests.contract.workloads import NAMES, fixtures

FILE = Path(__file__).with_name("fixtures.json")


def digest(workload: str) -> str:
    """One hash over inputs, references, intervals, bounds and coverage of a workload's fixtures."""
    found = hashlib.sha256()
    for name, fixture in fixtures(workload).items():
        intervals = [hash_arrays(bound or {}) for bound in (fixture.low, fixture.high)]
        bounds = [(bound.op, bound.steps) for bound in fixture.bounds]
        found.update(json.dumps([name, fixture.hashes, intervals, bounds, fixture.coverage], sort_keys=True).encode())
    return found.hexdigest()


def digests() -> dict[str, str]:
    return {workload: digest(workload) for workload in NAMES}


def kept() -> dict[str, str]:
    found: dict[str, str] = json.loads(FILE.read_text())
    return found


if __name__ == "__main__":
    text = json.dumps(digests(), indent=2) + "\n"
    if "--print" in sys.argv:
        sys.stdout.write(text)
    else:
        FILE.write_text(text)
