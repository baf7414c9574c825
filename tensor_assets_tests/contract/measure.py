"""What fixtures cost: ``python -m tensor_assets_tests.contract.measure`` builds the matrix suite at its own shape.

The aim is one minute on two cores. It is a measurement and no test: how fast a shared machine is decides nothing.
"""

from __future__ import annotations

import time

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.contract.fixtures import build_fixtures


def main() -> None:
    space = Workspace()
    wall, processor = time.monotonic(), time.process_time()
    for name, manifest in space.workloads.items():
        if manifest.suite != "matrix":
            continue
        began = time.monotonic()
        built = build_fixtures(manifest.program("matrix", space.shapes))
        print(f"{name:<20} {len(built):3} fixtures {time.monotonic() - began:6.1f} s")
    print(f"wall {time.monotonic() - wall:.1f} s, processor {time.process_time() - processor:.1f} s")


if __name__ == "__main__":
    main()
