"""Tidy tables of everything the site shows: one row per observation, whatever its outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
from tensor_worker.artifacts import Plan

from tensor_assets.records import Timing
from tensor_assets.report.columns import COLUMNS, IDENTITY
from tensor_assets.report.detail_tables import MAKERS, trials
from tensor_assets.report.reading import Configuration, Records, Snapshot, read_snapshot

Row = dict[str, Any]
Tables = dict[str, pd.DataFrame]


def build_tables(store: Records) -> Tables:
    """Every table of ``columns.COLUMNS`` from the latest records of ``store``, in a stable row order."""
    return tables_of(read_snapshot(store))


def tables_of(snapshot: Snapshot) -> Tables:
    """The tables of records that were read already."""
    makers: dict[str, Callable[[Configuration], Iterator[Row]]] = {
        "cells": _cell,
        "kernels": _kernels,
        "timings": _timings,
        "processes": _processes,
        "verdicts": _verdicts,
        "stages": _stages,
        **MAKERS,
    }
    rows = {name: [row for c in snapshot.configurations for row in make(c)] for name, make in makers.items()}
    rows["environments"] = _environments(snapshot)
    rows["trials"] = trials(snapshot)
    return {name: _frame(name, rows[name]) for name in COLUMNS}


def write_tables(tables: Tables, folder: Path) -> list[Path]:
    """Each table as Parquet, CSV and JSON (one object a row) in ``folder``; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, table in tables.items():
        paths = [folder / f"{name}{suffix}" for suffix in (".parquet", ".csv", ".json")]
        table.to_parquet(paths[0], index=False)
        table.to_csv(paths[1], index=False, lineterminator="\n")
        table.to_json(paths[2], orient="records", indent=1, double_precision=15)
        written += paths
    return written


def of_main_shapes(table: pd.DataFrame, snapshot: Snapshot, target: str) -> pd.DataFrame:
    """The rows of ``target`` at the shape that stands for each workload: two shapes are two programs."""
    own = table[table.target == target]
    pairs = zip(own.workload, own["shape"], strict=True)
    main = [snapshot.main_shape(workload, target) == shape for workload, shape in pairs]
    return own[pd.Series(main, index=own.index, dtype=bool)]


def of_one_allocation(rows: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """For each workload the rows of the allocation that timed most of it, and how many configurations that leaves out.

    A configuration that was not timed again after a reboot keeps times that nothing else stands beside.
    """
    timed = rows[rows.allocation.notna()]
    configurations = timed.drop_duplicates([*IDENTITY, "allocation"])
    counts = configurations.groupby(["workload", "allocation"]).size().reset_index(name="n")
    most = counts.sort_values(["n", "allocation"]).drop_duplicates("workload", keep="last")
    kept = set(zip(most.workload, most.allocation, strict=True))
    pairs = zip(timed.workload, timed.allocation, strict=True)
    own = pd.Series([pair in kept for pair in pairs], index=timed.index, dtype=bool)
    return timed[own], len(timed[~own].drop_duplicates(IDENTITY))


def timed_together(timings: pd.DataFrame, snapshot: Snapshot, workload: str, target: str) -> tuple[pd.DataFrame, int]:
    """What one chart of a workload may compare: its main shape on one allocation; and how many that leaves out."""
    return of_one_allocation(of_main_shapes(timings[timings.workload == workload], snapshot, target))


def intermediate_bytes(plan: Plan) -> int:
    """Memory that holds values between launches: neither inputs, outputs nor library workspace."""
    return sum(buffer.bytes for buffer in plan.buffers if buffer.role == "intermediate")


def drifted_at(timing: Timing, at: str) -> list[str]:
    """JSON pointers of how far the processes that drifted did, of the timing at ``at``."""
    return [f"{at}/series/{number}/drift" for number, series in enumerate(timing.series) if series.drifted]


def process_range(timing: Timing) -> tuple[float, float] | None:
    """Lowest and highest process median. A range, not a confidence interval."""
    medians = [series.median_ns for series in timing.series]
    return (min(medians), max(medians)) if medians else None


def _frame(name: str, rows: list[Row]) -> pd.DataFrame:
    columns = COLUMNS[name]
    stray = {column for row in rows for column in row} - columns.keys()
    assert not stray, f"table {name} declares no column {', '.join(sorted(stray))}, and would drop it"
    frame = pd.DataFrame(rows, columns=list(columns)).astype(columns)
    order = [column for column in (*IDENTITY, "position", "clock", "cache", "data", "process") if column in columns]
    return frame.sort_values(order, kind="stable", ignore_index=True)


def _identity(configuration: Configuration) -> Row:
    return {name: getattr(configuration.key, name) for name in IDENTITY}


def _cell(configuration: Configuration) -> Iterator[Row]:
    capture, key = configuration.capture, configuration.key
    yield {
        **_identity(configuration),
        "status": capture.outcome.status,
        "reason": capture.outcome.reason,
        "remedy": capture.outcome.remedy,
        "device": configuration.device,
        "version": capture.version,
        "environment": key.environment,
        "fingerprint": capture.fingerprint,
        **(_activities(capture.plan) if capture.plan and not configuration.unseen else {}),
        "unseen": " ".join(configuration.unseen),
        **_admission(configuration),
        "compile_seconds": sum(capture.phases.values()) if capture.phases else None,
        "first_execution_seconds": capture.first_execution_seconds,
        **_headline(configuration),
        "capture": configuration.capture_id,
        "benchmark": configuration.benchmark_id,
        "created": capture.provenance.created,
    }


def _activities(plan: Plan) -> Row:
    kinds = [launch.kind for launch in plan.launches]
    return {
        "launches": len(kinds),
        "kernels": kinds.count("kernel"),
        "library_calls": kinds.count("library"),
        "memsets": kinds.count("memset"),
        "copies": kinds.count("memcpy"),
        "intermediate_bytes": intermediate_bytes(plan) if plan.buffers else None,  # else it is not reported
    }


def _admission(configuration: Configuration) -> Row:
    admission = configuration.capture.admission
    if admission is None:
        return {}
    return {
        "admitted": admission.admitted,
        "boundary": admission.boundary,
        "boundary_share": admission.boundary_share,
    }


def _headline(configuration: Configuration) -> Row:
    benchmark, timing = configuration.benchmark, configuration.headline
    reason = benchmark.outcome.reason if benchmark else configuration.apart
    if benchmark is None or timing is None:
        return {"timing_reason": reason}
    return {**_summary(timing), **_session(configuration), "clock": timing.clock, "timing_reason": reason}


def _summary(timing: Timing) -> Row:
    low, high = process_range(timing) or (None, None)
    return {
        "median_ns": timing.median_ns,
        "process_low_ns": low,
        "process_high_ns": high,
        "noise": timing.noise,
        "processes": len(timing.series),
        "samples": sum(series.samples for series in timing.series),
        "verdict": timing.comparison.verdict if timing.comparison else None,
    }


def _session(configuration: Configuration) -> Row:
    benchmark = configuration.benchmark
    assert benchmark is not None
    allocation = benchmark.allocation.id if benchmark.allocation else None
    return {"allocation": allocation, "session": benchmark.session}


def _kernels(configuration: Configuration) -> Iterator[Row]:
    plan = configuration.capture.plan
    for position, launch in enumerate(plan.launches if plan else ()):
        yield {
            **_identity(configuration),
            "position": position,
            "kind": launch.kind,
            "name": launch.name,
            "grid": "x".join(map(str, launch.grid)) if launch.grid else None,
            "block": "x".join(map(str, launch.block)) if launch.block else None,
            "registers": launch.registers,
            "shared_bytes": launch.shared_bytes,
            "instruction": launch.instruction,
            "computes": " ".join(launch.computes),
            "parameters": msgspec.json.encode(launch.parameters).decode(),
            "code_sha256": launch.code_sha256,
            "stage": launch.stage,
            "unseen": " ".join(configuration.unseen),
            "status": configuration.status,
            "capture": configuration.capture_id,
        }


def _timings(configuration: Configuration) -> Iterator[Row]:
    benchmark = configuration.benchmark
    for timing in configuration.timings:
        assert benchmark is not None
        yield {
            **_identity(configuration),
            **_axes(timing),
            **_summary(timing),
            "floor_ns": timing.floor_ns,
            **_comparison(timing),
            "device": benchmark.allocation.device if benchmark.allocation else None,
            **_session(configuration),
            "benchmark": configuration.benchmark_id,
        }


def _axes(timing: Timing) -> Row:
    return {"clock": timing.clock, "cache": timing.cache, "data": timing.data}


def _comparison(timing: Timing) -> Row:
    found = timing.comparison
    if found is None:
        return {}
    low, high = found.interval or (None, None)
    return {
        "baseline": found.baseline,
        "ratio": found.ratio,
        "ratio_low": low,
        "ratio_high": high,
        "p": found.p,
        "q": found.q,
        "degrees": found.degrees,
    }


def _processes(configuration: Configuration) -> Iterator[Row]:
    for timing in configuration.timings:
        for series in timing.series:
            yield {
                **_identity(configuration),
                **_axes(timing),
                "process": series.process,
                "replicate": series.replicate,
                "samples": series.samples,
                "median_ns": series.median_ns,
                "p10_ns": series.p10_ns,
                "p90_ns": series.p90_ns,
                "block_low_ns": series.interval_ns[0],
                "block_high_ns": series.interval_ns[1],
                "drift": series.drift,
                "drifted": series.drifted,
                **_session(configuration),
                "benchmark": configuration.benchmark_id,
            }


def _verdicts(configuration: Configuration) -> Iterator[Row]:
    admission = configuration.capture.admission
    for verdict in admission.verdicts if admission else ():
        yield {**_identity(configuration), **msgspec.structs.asdict(verdict), "capture": configuration.capture_id}


def _stages(configuration: Configuration) -> Iterator[Row]:
    for position, (stage, file) in enumerate(configuration.stage_files()):
        yield {
            **_identity(configuration),
            "position": position,
            "stage": stage.name,
            "title": stage.title,
            "level": stage.level,
            "language": stage.language,
            "produced_by": stage.produced_by,
            "bytes": file.text.bytes,
            "excerpt": stage.excerpt is not None,
            "sha256": file.text.sha256,
            "fingerprint": file.fingerprint,
            "capture": configuration.capture_id,
        }


def _environments(snapshot: Snapshot) -> list[Row]:
    found = {c.environment_id: c.environment for c in snapshot.configurations if c.environment}
    return [
        {
            "compiler": environment.key.compiler,
            "environment": environment.key.environment,
            "status": environment.outcome.status,
            "reason": environment.outcome.reason,
            "version": environment.version,
            "python": environment.python,
            "lock_sha256": environment.lock_sha256,
            "packages": len(environment.freeze),
            "toolchain": msgspec.json.encode(environment.toolchain).decode(),
            "record": record_id,
        }
        for record_id, environment in found.items()
    ]
