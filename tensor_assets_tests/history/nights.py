"""A store with one benchmark a night, whose truth the test decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
from tensor_worker.artifacts import Launch, Plan
from tensor_worker.fingerprint import fingerprint

from tensor_assets.evidence.identity import Identity
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import (
    Allocation,
    BenchmarkRecord,
    CaptureRecord,
    EnvironmentRecord,
    Key,
    Outcome,
    Provenance,
    Series,
    StageFile,
    Timing,
)

H200 = "NVIDIA H200"
NOISE = 0.01
FIRST = datetime(2026, 1, 1, 3, tzinfo=UTC)


def empty_store(folder: Path) -> EvidenceStore:
    return EvidenceStore(folder / "store", Identity())


def logs(nights: int, seed: int = 0) -> np.ndarray:
    return np.log(30_000.0) + np.random.default_rng(seed).normal(0, 0.005, nights)


def night(number: int) -> str:
    return (FIRST + timedelta(days=number)).isoformat(timespec="milliseconds")


def put_nights(
    store: EvidenceStore,
    values: Sequence[float],
    *,
    first: int = 0,
    versions: Sequence[str] = (),
    compiler: str = "tinygrad",
    method: str = "m1",
    driver: str = "580.1",
    device: str = H200,
    clock: str = "device",
    uuids: Sequence[str] = (),
    captures: Sequence[str] = (),
) -> list[str]:
    """One record for each log time; ``versions`` names each night's release, whose code differs from every other's.

    ``uuids`` names each night's physical device, each of them an allocation; ``captures`` the record whose code it ran.
    """
    ids = []
    for number, log in enumerate(values, first):
        version = versions[number - first] if len(versions) else "1.0"
        uuid = uuids[number - first] if len(uuids) else "GPU-1"
        capture = captures[number - first] if len(captures) else ""
        record = BenchmarkRecord(
            key=_key(compiler, version, method),
            outcome=Outcome(status="ok"),
            provenance=Provenance(created=night(number), parents=(capture,) if capture else ()),
            session="",
            allocation=Allocation(id=f"allocation of {uuid}", device=device, device_uuid=uuid, driver=driver),
            fingerprint=_fingerprint(store, capture) if capture else f"code of {version}",
            timings=(_timing(clock, math.exp(log)),),
        )
        ids.append(store.put(record))
    for version in dict.fromkeys(versions or ("1.0",)):
        store.put(_environment(compiler, version, night(first)))
    return ids


def _timing(clock: str, median: float) -> Timing:
    """Three processes that agree to the nanosecond on ``median`` nanoseconds."""
    one = Series(
        process=0,
        replicate=0,
        samples=15,
        median_ns=median,
        p10_ns=median,
        p90_ns=median,
        interval_ns=(median, median),
        drift=0.0,
        drifted=False,
    )
    series = tuple(msgspec.structs.replace(one, process=index, replicate=index) for index in range(3))
    return Timing(
        clock=clock,  # type: ignore[arg-type]
        cache="warm",
        data="random",
        series=series,
        median_ns=median,
        noise=NOISE,
        noise_degrees=12,
    )


def _environment(compiler: str, version: str, created: str) -> EnvironmentRecord:
    return EnvironmentRecord(
        key=Key(compiler=compiler, target=H200, environment=f"environment of {version}"),
        outcome=Outcome(status="ok"),
        provenance=Provenance(created=created),
        python="3.11.7",
        lock_sha256="0" * 64,
        freeze={},
        version=version,
    )


def put_capture(
    store: EvidenceStore, number: int, status: str, *, version: str = "1.0", method: str = "m1", reason: str = ""
) -> str:
    record = CaptureRecord(
        key=_key("tinygrad", version, method),
        outcome=Outcome(status=status, reason=reason),
        provenance=Provenance(created=night(number)),
        version=version,
    )
    return store.put(record)


def put_code(
    store: EvidenceStore, number: int, *, adapter: str, kernels: Sequence[str], calls: int = 0, version: str = "1.0"
) -> str:
    """A capture of these kernels and so many library calls, as ``adapter`` reads it."""
    text = store.put_bytes(f"text of {kernels}".encode(), "text/plain", "kernels")
    launches = [Launch(kind="kernel", name=code, code_sha256=code, stage="kernels") for code in kernels]
    described = Launch(kind="library", name="gemm", code_sha256=f"a call, as {adapter} writes it")
    plan = Plan(launches=(*launches, *[described] * calls))
    record = CaptureRecord(
        key=_key("tinygrad", version, adapter),
        outcome=Outcome(status="ok"),
        provenance=Provenance(created=night(number)),
        version=version,
        stages=(StageFile(stage="kernels", text=text),),
        plan=plan,
        fingerprint=fingerprint(plan),
    )
    return store.put(record)


def _fingerprint(store: EvidenceStore, capture: str) -> str:
    record = store.get(capture)
    assert isinstance(record, CaptureRecord)
    return record.fingerprint


def _key(compiler: str, version: str, method: str) -> Key:
    return Key(
        workload="weight_view",
        shape="matrix",
        compiler=compiler,
        variant="default",
        target=H200,
        environment=f"environment of {version}",
        method=method,
    )
