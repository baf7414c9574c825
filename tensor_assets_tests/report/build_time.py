"""How long a site takes: ``python -m tensor_assets_tests.report.build_time STORE`` builds one twice, cold and warm.

Everything that the assets of the group ``report`` do: tables, charts, alerts, pages, the strict build with its checks,
the seal. A copy of the store is read, so that what a build files stays out of it. It is a measurement and no test.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tensor_assets.campaign import publish
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.records import CaptureRecord
from tensor_assets.settings import load_settings

STEPS = (publish.results, publish.charts, publish.pages, publish.site)


def used() -> float:
    """Seconds of processor time of this process and of those it ran."""
    found = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in found)


def build(space: Workspace, called: str) -> None:
    told, began = [], (time.monotonic(), used())
    for step in STEPS:
        before = time.monotonic(), used()
        step(space)
        told.append(f"{step.__name__} {time.monotonic() - before[0]:.1f} s")
    took, busy = time.monotonic() - began[0], used() - began[1]
    load = os.getloadavg()[0]
    print(f"{called}: {took:.1f} s ({busy:.1f} s of processors, load {load:.1f}): {', '.join(told)}", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        store, site = Path(scratch) / "store", Path(scratch) / "site"
        shutil.copytree(sys.argv[1], store)
        own = {"STORE": str(store), "SITE": str(site), "CACHE": str(Path(scratch) / "cache")}
        settings = load_settings({f"TENSOR_ASSETS_{name}": value for name, value in own.items()})
        for called in ("cold", "warm"):
            build(Workspace(settings), called)
        captures = sum(1 for _ in Workspace(settings).store.records(CaptureRecord))
        pages = [path.stat().st_size for path in site.rglob("*.html")]
        print(f"{captures} configurations, {len(pages)} pages, the largest {max(pages) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
