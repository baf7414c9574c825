"""What the store costs, on this machine, in one run: ``python -m tensor_assets_tests.evidence.measure [FOLDER]``.

- verify against ``sha256sum`` on the same files,
- putting small records against writing the same bytes as durably by hand,
- memory of verifying a large store.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tensor_assets.evidence.key import canonical
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.verification import verify
from tensor_assets.records import CaptureRecord, Key, Outcome, Provenance
from tensor_assets_tests.evidence.samples import MLIR, NOBODY

MEGABYTE = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--gigabytes", type=float, default=5.0)
    parser.add_argument("--verify-alone", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.verify_alone:
        _verify_alone(arguments.verify_alone)
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
        _memory(Path(folder), arguments.gigabytes)
        _small_records(Path(folder), arguments.records)


def _memory(folder: Path, gigabytes: float) -> None:
    """A store of random bytes, and of text as compilers write it; then the same files through sha256sum."""
    small, large = EvidenceStore(folder / "small", NOBODY), EvidenceStore(folder / "large", NOBODY)
    small.put_bytes(b"x", "application/octet-stream", "x")
    chance, left = random.Random(5), gigabytes * 1e9
    while left > 0:
        size = min(int(left), chance.choice((1, 16, 256)) * MEGABYTE)
        large.put_bytes(os.urandom(size), "application/octet-stream", "x")
        large.put_bytes(MLIR.encode() * chance.randrange(1, 400), "text/x-mlir", "x")
        left -= size
    baseline, report = _measured_alone(folder / "small"), _measured_alone(folder / "large")
    print(
        f"verify of {report['bytes'] / 1e9:.2f} GB in {report['files']} files: {report['seconds']:.1f} s; "
        f"peak memory {report['peak'] / 1e6:,.0f} MB, of a tiny store {baseline['peak'] / 1e6:,.0f} MB"
    )
    for jobs in (1, os.cpu_count() or 1):
        began = time.monotonic()
        command = f"find {folder / 'large' / 'objects'} -type f -print0 | xargs -0 -n 4 -P {jobs} sha256sum"
        subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
        took = time.monotonic() - began
        ratio = report["seconds"] / took
        print(f"sha256sum of the same, {jobs} at a time: {took:.1f} s; verify takes {ratio:.2f} of that", flush=True)
    shutil.rmtree(folder / "large")


def _measured_alone(store: Path) -> dict[str, float]:
    """In a process of its own, whose peak memory is then that of the verification."""
    command = [sys.executable, "-m", __spec__.name, "--verify-alone", str(store)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _verify_alone(store: Path) -> None:
    report = verify(store)
    assert report.sound, report.summary()
    status = Path("/proc/self/status").read_text()  # getrusage would count the parent's memory before exec too
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024
    print(json.dumps({"files": report.files, "bytes": report.bytes, "seconds": report.seconds, "peak": peak}))


def _small_records(folder: Path, count: int) -> None:
    records = [
        CaptureRecord(
            key=Key(workload=f"w{number % 1000}", compiler=f"c{number % 7}", method=str(number)),
            outcome=Outcome(status="crashed", reason=f"a reason of some length, number {number}"),
            provenance=Provenance(created="2026-12-02T10:00:00.000+00:00"),
        )
        for number in range(count)
    ]
    by_hand = _by_hand(folder / "by hand", records)
    store = EvidenceStore(folder / "records", NOBODY)
    began = time.monotonic()
    for record in records:
        store.put(record)
    took = time.monotonic() - began
    began = time.monotonic()
    listed = sum(1 for _ in EvidenceStore(folder / "records", NOBODY).records())
    listing = time.monotonic() - began
    began = time.monotonic()
    assert verify(folder / "records").sound
    print(
        f"{count:,} records: {took / count * 1e6:,.0f} µs each, the same bytes by hand {by_hand / count * 1e6:,.0f} µs,"
        f" ratio {took / by_hand:.2f}; reading all {listed:,}: {listing:.1f} s; verify {time.monotonic() - began:.1f} s"
    )


def _by_hand(folder: Path, records: list[CaptureRecord]) -> float:
    """Each to a file of its own, flushed, renamed, its folder flushed; 256 folders as in a store."""
    began = time.monotonic()
    for shelf in range(256):
        (folder / f"{shelf:02x}").mkdir(parents=True)
    for number, record in enumerate(records):
        path = folder / f"{number % 256:02x}" / f"{number}.json"
        with (folder / "staged").open("wb") as file:
            file.write(canonical(record))
            file.flush()
            os.fsync(file.fileno())
        (folder / "staged").rename(path)
        handle = os.open(path.parent, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
