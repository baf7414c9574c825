"""Bundles whose form is right and whose records are not: a forger exported them from a store of his own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from tensor_worker.program import Op, Value

from tensor_assets.evidence import bundle
from tensor_assets.evidence.bundle import Member
from tensor_assets.evidence.key import canonical
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import export_bundle
from tensor_assets.records import BenchmarkRecord, CaptureRecord, FixtureRecord, Key, Record
from tensor_assets_tests.evidence.hostile import Part, Parts
from tensor_assets_tests.evidence.samples import ALLOCATION, Sample, campaign

Forgery = Callable[[Sample], Record]


def forged(folder: Path, forgery: Forgery) -> bytes:
    """A bundle of a campaign and one record more, filed without any check."""
    sample = campaign(folder / "forger")
    record = forgery(sample)
    sample.store.file(canonical(record), record)
    export_bundle(sample.store, folder / "forged.tar")
    return (folder / "forged.tar").read_bytes()


def _capture(**changes: Any) -> Forgery:
    return lambda sample: msgspec.structs.replace(_of(sample, CaptureRecord, "capture tvm"), **changes)


def _keyed(**parts: str) -> Forgery:
    return _capture(key=msgspec.structs.replace(Key(workload="w", compiler="tvm"), **parts))


def _of(sample: Sample, kind: type[Any], name: str) -> Any:
    record = sample.store.get(sample.ids[name])
    assert isinstance(record, kind)
    return record


def _named_file(name: str) -> Forgery:
    return lambda sample: msgspec.structs.replace(
        _of(sample, CaptureRecord, "capture tvm"), cache=msgspec.structs.replace(sample.stage, name=name)
    )


def _program(**changes: Any) -> Forgery:
    def forgery(sample: Sample) -> Record:
        record = _of(sample, FixtureRecord, "fixtures")
        return msgspec.structs.replace(record, program=msgspec.structs.replace(record.program, **changes))

    return forgery


def _fixture_named(name: str) -> Forgery:
    def forgery(sample: Sample) -> Record:
        record = _of(sample, FixtureRecord, "fixtures")
        return msgspec.structs.replace(record, fixtures=(msgspec.structs.replace(record.fixtures[0], name=name),))

    return forgery


def _hash(sha256: str) -> Forgery:
    return lambda sample: msgspec.structs.replace(
        _of(sample, CaptureRecord, "capture tvm"), cache=msgspec.structs.replace(sample.stage, sha256=sha256)
    )


def _stage_path(path: str) -> Forgery:
    def forgery(sample: Sample) -> Record:
        record = _of(sample, CaptureRecord, "capture tvm")
        (stage,) = record.capture.stages
        stages = (msgspec.structs.replace(stage, path=path),)
        return msgspec.structs.replace(record, capture=msgspec.structs.replace(record.capture, stages=stages))

    return forgery


def _wrong_size(sample: Sample) -> Record:
    stage = msgspec.structs.replace(sample.stage, bytes=sample.stage.bytes + 1)
    return msgspec.structs.replace(_of(sample, CaptureRecord, "capture tvm"), cache=stage)


def _benchmark_elsewhere(sample: Sample) -> Record:
    record = _of(sample, BenchmarkRecord, "benchmark tvm")
    other = msgspec.structs.replace(ALLOCATION, id="b2", device_uuid="GPU-99999999-2222-3333-4444-555555555555")
    return msgspec.structs.replace(record, allocation=other)


def _session_elsewhere(sample: Sample) -> Record:
    session = sample.store.get(sample.ids["session"])
    return msgspec.structs.replace(
        session, allocation=msgspec.structs.replace(ALLOCATION, id="b2", device="NVIDIA H100 80GB HBM3")
    )


def _faster(sample: Sample) -> Record:
    record = _of(sample, BenchmarkRecord, "benchmark tvm")
    (timing,) = record.timings
    return msgspec.structs.replace(record, timings=(msgspec.structs.replace(timing, median_ns=1.0),))


def _lying_fixture(sample: Sample) -> Record:
    record = _of(sample, FixtureRecord, "fixtures")
    (fixture,) = record.fixtures
    lie = msgspec.structs.replace(fixture, hashes={**fixture.hashes, "y": "0" * 64})
    return msgspec.structs.replace(record, fixtures=(lie,))


FORGERIES: dict[str, Forgery] = {
    "workload name that climbs out": _keyed(workload="../../site"),
    "workload name that hides": _keyed(workload=".git"),
    "workload name with markup": _keyed(workload="<script>alert(1)</script>"),
    "workload name with a newline": _keyed(workload="gemm\n# pwned"),
    "compiler name with a direction mark": _keyed(compiler="tvm\u202e"),
    "compiler name with look-alike letters": _keyed(compiler="tvм"),
    "target without end": _keyed(target="H" * 10_000),
    "file name that climbs out": _named_file("../../../.ssh/authorized_keys"),
    "absolute file name": _named_file("/etc/passwd"),
    "file name with a control character": _named_file("a\x1b[2Jb"),
    "file name with markup": _named_file("<img src=x>.txt"),
    "hash that is a path": _hash("../../../../../../../../etc/passwd"),
    "stage path that climbs out": _stage_path("../../x.mlir"),
    "file of another size": _wrong_size,
    "benchmark on another GPU than its session": _benchmark_elsewhere,
    "session on another device than it is filed under": _session_elsewhere,
    "median that its session does not give": _faster,
    "fixture that does not hash to its record": _lying_fixture,
    "input whose name is code": _program(inputs=(Value(name='a"); import os; ("', shape=(256,), dtype="f16"),)),
    "op that reads what is not there": _program(ops=(Op(name="y", op="relu", of=("q",), shape=(256,), dtype="f16"),)),
    "input that fills the memory": _program(
        inputs=(Value(name="a", shape=(2**40,), dtype="f16"), Value(name="b", shape=(256,), dtype="f16"))
    ),
    "fixed check loosened": _program(tolerance=(1.0, 1.0)),
    "shape whose name climbs out": _program(shape="../x"),
    "fixture whose name is code": _fixture_named('exact-0", 0); import os; ("'),
}


def without_omissions(folder: Path) -> bytes:
    """A record names evidence that the bundle neither holds nor says it omits."""
    sample = campaign(folder / "forger")
    rare = sample.store.put_bytes(b"nobody else has this", "application/zstd", "cache.zst")
    sample.store.put(_capture(cache=rare)(sample))
    (folder / "forger" / str(sample.store.locate(rare.sha256))).unlink()
    export_bundle(EvidenceStore(folder / "forger"), folder / "forged.tar")
    parts = Parts((folder / "forged.tar").read_bytes())
    assert parts.declared["omitted"]
    parts.declared["omitted"] = {}
    return parts.build()


def with_a_stowaway(folder: Path) -> bytes:
    """A file that no record names."""
    sample = campaign(folder / "forger")
    export_bundle(sample.store, folder / "forged.tar")
    parts = Parts((folder / "forged.tar").read_bytes())
    payload = b"#!/bin/sh\n"
    stowaway = Member(sha256=sample.store.put_bytes(payload, "text/plain", "x").sha256, bytes=10, stored=10)
    names = [member["sha256"] for member in parts.declared["members"] if not member["kind"]]
    index = len([name for name in names if name < stowaway.sha256])
    parts.declared["members"].insert(index, msgspec.to_builtins(stowaway))
    parts.members.insert(index, Part(bundle.header(stowaway.path, 10), payload))
    return parts.build()
