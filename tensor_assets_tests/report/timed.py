"""What the campaign measured: sessions, every cell's view of them, profiles of the GPU's cells."""

from __future__ import annotations

import math

import msgspec
from tensor_worker.artifacts import Candidate, Launch, Search

from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import (
    Allocation,
    BenchmarkRecord,
    Block,
    CaptureRecord,
    Comparison,
    EffortRecord,
    KernelProfile,
    Key,
    Outcome,
    Process,
    ProfileRecord,
    Roof,
    Series,
    SessionRecord,
    Timing,
    Trial,
)
from tensor_assets_tests.report.compiled import plan
from tensor_assets_tests.report.words import H200, PROVENANCE, sha

CPU_MILLISECONDS = {"tinygrad": 748.0, "max": 10.9, "inductor": 51.2, "tvm": 857.0, "eager": 46.0}
ROOFS = (
    Roof(level="HBM", bytes=5.2e6, intensity=309.0, attainable=9.9e14, share=0.32),
    Roof(level="L2", bytes=4.1e7, intensity=39.3, attainable=4.3e14, share=0.71),
)
DEVICE_MICROSECONDS = {"tinygrad": 30.2, "max": 15.6, "inductor": 6.5, "tvm": 48.2, "eager": 8.6, "triton": 5.66}


def time_cells(store: EvidenceStore, workload: str, target: str, device: str) -> None:
    """One session over the admitted configurations, then every cell's view of it; the rest is blocked."""
    captures = [
        record
        for _, record in store.records(CaptureRecord)
        if (record.key.workload, record.key.target) == (workload, target)
    ]
    admitted = [record for record in captures if record.outcome.status == "ok"]
    allocation = Allocation(id=sha(device)[:16], device=device, driver="580.159.04" if "NVIDIA" in device else "")
    session = _session(workload, target, allocation, admitted)
    session_id = store.put(session)
    for record in captures:
        ok = record.outcome.status == "ok"
        blocked = Outcome(status="blocked", reason=f"capture is {record.outcome.status}")
        store.put(
            BenchmarkRecord(
                key=msgspec.structs.replace(record.key, method="timing-1"),
                outcome=Outcome(status="ok") if ok else blocked,
                provenance=msgspec.structs.replace(PROVENANCE, parents=(session_id,)),
                session=session_id,
                allocation=allocation if ok else None,
                fingerprint=record.fingerprint,
                timings=_timings(record, target) if ok else (),
            )
        )


def profile_cells(store: EvidenceStore) -> None:
    """A timeline and counters for every timed configuration on the GPU."""
    benchmarks = [r for _, r in store.records(BenchmarkRecord) if r.key.target == H200 and r.outcome.status == "ok"]
    for record in benchmarks:
        launches = plan("weight_view", record.key.compiler, H200).launches
        share = _median(record.key.compiler, H200, "weight_view") / len(launches)
        kernels = tuple(_kernel(number, launch, share) for number, launch in enumerate(launches))
        busy = sum(kernel.duration_ns for kernel in kernels)
        store.put(
            ProfileRecord(
                key=msgspec.structs.replace(record.key, method="profile-1"),
                outcome=Outcome(status="ok"),
                provenance=PROVENANCE,
                session=record.session,
                allocation=record.allocation,
                fingerprint=record.fingerprint,
                timeline=((), (), ()),
                kernels=kernels,
                busy_ns=busy,
                span_ns=busy + sum(kernel.gap_ns for kernel in kernels),
                opcodes={"matmul": {"HGMMA.64x64x16.F32": 48, "LDGSTS": 12, "BAR": 4}},
                ceilings={"arithmetic": "990 TFLOP/s, data sheet", "HBM": "4.8 TB/s, data sheet"},
                missing={"host lane": "no Nsight Systems on this machine"},
            )
        )


def _kernel(position: int, launch: Launch, nanoseconds: float) -> KernelProfile:
    memset = launch.kind == "memset"
    contraction = "p" in launch.computes
    return KernelProfile(
        position=position,
        kind="kernel" if launch.kind == "library" else launch.kind,
        name=launch.name,
        grid=launch.grid or (0, 0, 0),
        block=launch.block or (0, 0, 0),
        registers=launch.registers or 0,
        bytes=33_554_432 if memset else 0,
        duration_ns=nanoseconds,
        gap_ns=900.0 if position else 0.0,
        occupancy=None if memset else 0.1875,
        occupancy_limit="" if memset else "registers",
        waves=None if memset else 0.97,
        operations=1.61e9 if contraction else 1.05e6,
        roofs=ROOFS if contraction else (),
    )


def search_efforts(store: EvidenceStore) -> None:
    """Two paired blocks of three search levels on the GPU; the largest search of the second one hit its deadline."""
    found = {
        "default": (0.4, 30.2, 1), "tuned": (12.6, 21.4, 226), "expanded": (600.0, None, 1804),
    }  # fmt: skip
    trials = tuple(
        _trial(block, position, name, *cost)
        for block in range(2)
        for position, (name, cost) in enumerate(found.items())
    )
    allocation = Allocation(id=sha(H200)[:16], device=H200, driver="580.159.04")
    key = Key(workload="weight_view", shape="matrix", compiler="tinygrad", target=H200, method="effort-1")
    store.put(
        EffortRecord(
            key=key, outcome=Outcome(status="ok"), provenance=PROVENANCE, allocation=allocation, seed=3, trials=trials
        )
    )


def _trial(block: int, position: int, variant: str, seconds: float, microseconds: float | None, tried: int) -> Trial:
    stopped = Outcome(status="censored", reason="stopped at its deadline of 600 s")
    return Trial(
        block=block,
        position=position,
        variant=variant,
        outcome=Outcome(status="ok") if microseconds else stopped,
        fingerprint=sha(variant),
        compile_seconds=seconds * (1 + 0.05 * block) if microseconds else None,
        first_execution_seconds=0.02 if microseconds else None,
        search=Search(
            scope="candidate timings of one BEAM search",
            tried=tried,
            seconds=seconds,
            censored="" if microseconds else "deadline",
            untimed=0 if microseconds else 412,
            candidates=_candidates(ended=bool(microseconds)),
        ),
        series=_series(microseconds * 1e3, 0.004)[block] if microseconds else None,
    )


def _candidates(ended: bool) -> tuple[Candidate, ...]:
    """The second is the quickest, and not chosen; of a search that was stopped none is."""
    return (
        Candidate(name="beam 0", chosen=ended, measured_ns=17_250.0),
        Candidate(name="beam 1", chosen=False, measured_ns=16_500.0, refused="slower" if ended else ""),
        Candidate(name="beam 2", chosen=False, refused="did not compile"),
    )


def _series(median: float, noise: float) -> tuple[Series, ...]:
    return tuple(
        Series(
            process=number,
            replicate=number,
            samples=5,
            median_ns=median * factor,
            p10_ns=median * factor * 0.99,
            p90_ns=median * factor * 1.03,
            interval_ns=(median * factor * 0.995, median * factor * 1.01),
            drift=0.004,
            drifted=False,
        )
        for number, factor in enumerate((1 - noise, 1.0, 1 + noise))
    )


def _session(workload: str, target: str, allocation: Allocation, admitted: list[CaptureRecord]) -> SessionRecord:
    processes = [
        Process(
            index=3 * position + replicate,
            compiler=record.key.compiler,
            variant=record.key.variant,
            replicate=replicate,
            fingerprint=record.fingerprint,
            outcome=Outcome(status="ok"),
            core=1,
            recheck=True,
        )
        for position, record in enumerate(admitted)
        for replicate in range(3)
    ]
    blocks = [
        Block(
            process=process.index,
            round=number,
            position=process.index,
            clock="host",
            cache="warm",
            data="random",
            invocations=1,
            elapsed_ns=int(_median(process.compiler, target, workload)),
        )
        for number in range(5)
        for process in processes
    ]
    return SessionRecord(
        key=Key(workload=workload, shape="matrix", target=target, method="timing-1"),
        outcome=Outcome(status="ok"),
        provenance=PROVENANCE,
        allocation=allocation,
        seed=7,
        processes=tuple(processes),
        blocks=tuple(blocks),
        load=(0.2, 1.1),
        method={"blocks": 5, "warmup_seconds": 2.0, "budget_seconds": 15.0},
    )


def _median(compiler: str, target: str, workload: str) -> float:
    wobble = 1 + 0.3 * (int(sha(compiler + workload)[:4], 16) / 65535 - 0.5)
    if target == "cpu":
        return CPU_MILLISECONDS.get(compiler, 20.0) * 1e6 * wobble
    return DEVICE_MICROSECONDS.get(compiler, 20.0) * 1e3


def _timings(record: CaptureRecord, target: str) -> tuple[Timing, ...]:
    median = _median(record.key.compiler, target, record.key.workload)
    on_gpu = [("device", 1.0, 0.004), ("graph", 1.4, 0.005), ("host", 7.5, 0.009)]
    baseline = _median("eager", target, record.key.workload)
    warm = [
        _timing(clock, median * factor, noise, baseline * factor, record)
        for clock, factor, noise in ([("host", 1.0, 0.012)] if target == "cpu" else on_gpu)
    ]
    if target == "cpu":
        return tuple(warm)
    cold = _timing("device", median * 1.25, 0.006, baseline * 1.25, record)
    return (*warm, msgspec.structs.replace(cold, cache="cold"))


def _timing(clock: str, median: float, noise: float, baseline: float, record: CaptureRecord) -> Timing:
    series = _series(median, noise)
    ratio = median / baseline
    half = math.exp(2.4 * noise)
    verdict = "same" if abs(math.log(ratio)) < noise else ("slower" if ratio > 1 else "faster")
    comparison = Comparison(
        baseline="eager default",
        ratio=ratio,
        interval=(ratio / half, ratio * half),
        p=0.001,
        q=0.004,
        degrees=10,
        verdict=verdict,
    )
    own = record.key.compiler == "eager"
    return Timing(
        clock=clock,  # type: ignore[arg-type]
        cache="warm",
        data="random",
        series=series,
        median_ns=median,
        noise=noise,
        floor_ns=1600.0 if clock == "device" else None,
        comparison=None if own else comparison,
    )
