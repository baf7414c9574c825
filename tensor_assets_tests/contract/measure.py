"""What building fixtures and judging costs, for the matrix suite at its own shape.

``python -m tensor_assets_tests.contract.measure`` judges a wrong implementation, which is compared with every
violation's reference too. The aim is one minute for all fixtures on two cores. It is a measurement and no test: how
fast a shared machine is decides nothing.
"""

from __future__ import annotations

import time

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.contract.admission import Run, admit
from tensor_assets.contract.fixtures import build_fixtures
from tensor_assets.contract.violations import violations


def main() -> None:
    space = Workspace()
    building = judging = 0.0
    for name, manifest in space.workloads.items():
        if manifest.suite != "matrix":
            continue
        program = manifest.program("matrix", space.shapes)
        began = time.monotonic()
        built = build_fixtures(program)
        took = time.monotonic() - began
        wrong = violations(program)[0]
        runs = [Run(fixture, wrong.outputs(program, fixture.inputs)) for fixture in built]
        began = time.monotonic()
        admit(program, runs)
        judged = time.monotonic() - began
        print(f"{name:<20} {len(built):3} fixtures {took:6.1f} s, judged in {judged:6.1f} s", flush=True)
        building, judging = building + took, judging + judged
    print(f"fixtures {building:.1f} s, judging {judging:.1f} s, processor of all {time.process_time():.1f} s")


if __name__ == "__main__":
    main()
