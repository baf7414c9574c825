"""Records as Dagster metadata: what a reader of the UI wants to see first. Nothing private, no path of this machine."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import dagster as dg
from tensor_worker.artifacts import Launch, SemanticGraph

from tensor_assets.campaign.stored import Stored
from tensor_assets.records import (
    BenchmarkRecord,
    CaptureRecord,
    EnvironmentRecord,
    FixtureRecord,
    Key,
    Outcome,
    SessionRecord,
)

Metadata = dict[str, dg.MetadataValue]

_KERNEL_COLUMNS = ("order", "kind", "name", "grid", "block", "registers", "shared", "computes", "instruction")


def fixtures_metadata(stored: Stored[FixtureRecord]) -> Metadata:
    rows = [
        dg.TableRecord(
            {
                "fixture": fixture.name,
                "decides": "bit for bit" if fixture.exact else "interval",
                "largest partial sum": " ".join(f"{bound.op} 2^{_log2(bound.steps)}" for bound in fixture.bounds),
                "violations caught": " ".join(f"{name} {share:.0%}" for name, share in fixture.coverage.items()),
                "evidence": fixture.arrays.sha256[:12],
            }
        )
        for fixture in stored.record.fixtures
    ]
    return framed(
        stored.id,
        stored.record.key,
        stored.record.outcome,
        stored.reused,
        {
            "question": dg.MetadataValue.text(stored.record.question),
            "fixtures": table(rows),
        },
    )


def environment_metadata(stored: Stored[EnvironmentRecord]) -> Metadata:
    record = stored.record
    tools = [dg.TableRecord({"tool": name, "version": text}) for name, text in record.toolchain.items()]
    packages = [dg.TableRecord({"package": name, "version": text}) for name, text in record.freeze.items()]
    return framed(
        stored.id,
        record.key,
        record.outcome,
        stored.reused,
        {
            "version": dg.MetadataValue.text(record.version or "–"),
            "python": dg.MetadataValue.text(record.python or "–"),
            **({"toolchain": table(tools)} if tools else {}),
            **({"packages": table(packages)} if packages else {}),
        },
    )


def semantic_metadata(captures: Sequence[Stored[CaptureRecord]]) -> Metadata:
    default = captures[0]
    stages = {stage.name: stage for stage in default.record.capture.stages} if default.record.capture else {}
    rows = [
        dg.TableRecord(
            {
                "stage": stages[file.stage].title,
                "level": stages[file.stage].level,
                "from": stages[file.stage].produced_by,
                "bytes": file.text.bytes,
                "evidence": file.text.sha256,
            }
        )
        for file in default.record.stages
        if file.stage in stages
    ]
    graph = default.record.capture.graph if default.record.capture else None
    return framed(
        default.id,
        default.record.key,
        default.record.outcome,
        default.reused,
        {
            **({"stages": table(rows)} if rows else {}),
            **({"semantic graph": dg.MetadataValue.md(_graph_text(graph))} if graph else {}),
        },
    )


def plan_metadata(captures: Sequence[Stored[CaptureRecord]]) -> Metadata:
    default = captures[0]
    record = default.record
    kernels = [
        dg.TableRecord(dict(zip(_KERNEL_COLUMNS, _kernel_row(index, launch), strict=True)))
        for index, launch in enumerate(record.plan.launches if record.plan else (), start=1)
    ]
    variants = [
        dg.TableRecord(
            {
                "variant": capture.record.key.variant,
                "outcome": capture.record.outcome.status,
                "reason": capture.record.outcome.reason,
                "launches": len(capture.record.plan.launches) if capture.record.plan else 0,
                "fingerprint": capture.record.fingerprint[:12],
                "record": capture.id,
            }
        )
        for capture in captures
    ]
    return framed(
        default.id,
        record.key,
        record.outcome,
        default.reused,
        {
            "device": dg.MetadataValue.text((record.allocation.device if record.allocation else record.device) or "–"),
            **({"fingerprint": dg.MetadataValue.text(record.fingerprint)} if record.fingerprint else {}),
            **({"kernels": table(kernels)} if kernels else {}),
            "variants": table(variants),
        },
    )


def session_metadata(stored: Stored[SessionRecord]) -> Metadata:
    record = stored.record
    rows = [
        dg.TableRecord(
            {
                "compiler": process.compiler,
                "variant": process.variant,
                "process": process.replicate,
                "core": "" if process.core is None else str(process.core),
                "outcome": process.outcome.status,
                "outputs right afterwards": "" if process.recheck is None else "yes" if process.recheck else "no",
            }
        )
        for process in record.processes
    ]
    return framed(
        stored.id,
        record.key,
        record.outcome,
        stored.reused,
        {
            "device": dg.MetadataValue.text(record.allocation.device),
            "allocation": dg.MetadataValue.text(record.allocation.id),
            "blocks": dg.MetadataValue.int(len(record.blocks)),
            "seed": dg.MetadataValue.int(record.seed),
            **({"processes": table(rows)} if rows else {}),
        },
    )


def benchmark_metadata(benchmarks: Sequence[Stored[BenchmarkRecord]], latency: str) -> Metadata:
    default = benchmarks[0]
    rows = [
        dg.TableRecord(
            {
                "variant": stored.record.key.variant,
                "clock": timing.clock,
                "median µs": "" if timing.median_ns is None else f"{timing.median_ns / 1e3:,.2f}",
                "A/A noise": "" if timing.noise is None else f"{timing.noise:.2%}",
                "processes": len(timing.series),
                "against baseline": timing.comparison.verdict if timing.comparison else "",
            }
        )
        for stored in benchmarks
        for timing in stored.record.timings
    ]
    return framed(
        default.id,
        default.record.key,
        default.record.outcome,
        default.reused,
        {
            **({"timings": table(rows)} if rows else {}),
            **({"latency": dg.MetadataValue.md(latency)} if latency else {}),
        },
    )


def tables_metadata(tables: Mapping[str, int]) -> Metadata:
    return {f"{name} rows": dg.MetadataValue.int(rows) for name, rows in tables.items()}


def files_metadata(files: Sequence[Path]) -> Metadata:
    return {
        "files": dg.MetadataValue.int(len(files)),
        "names": dg.MetadataValue.json([file.name for file in files][:50]),
    }


def framed(record_id: str, key: Key, outcome: Outcome, reused: bool, told: Metadata) -> Metadata:
    """The outcome first, then what there is to tell, then where it is filed."""
    filed = {field: value for field in key.__struct_fields__ if (value := getattr(key, field))}
    return {
        "outcome": dg.MetadataValue.text(f"{outcome.status}: {outcome.reason}" if outcome.reason else outcome.status),
        **({"remedy": dg.MetadataValue.text(outcome.remedy)} if outcome.remedy else {}),
        **told,
        "record": dg.MetadataValue.text(f"sha256:{record_id}"),
        "key": dg.MetadataValue.json(filed),
        "reused": dg.MetadataValue.bool(reused),
    }


def _kernel_row(index: int, launch: Launch) -> tuple[str | int, ...]:
    return (
        index,
        launch.kind,
        launch.name,
        "×".join(map(str, launch.grid)) if launch.grid else "",
        "×".join(map(str, launch.block)) if launch.block else "",
        "" if launch.registers is None else str(launch.registers),
        "" if launch.shared_bytes is None else str(launch.shared_bytes),
        ", ".join(launch.computes),
        launch.instruction,
    )


def _graph_text(graph: SemanticGraph) -> str:
    lines = [f"- `{node.op}` {list(node.shape)} {node.dtype} · {node.role}" for node in graph.nodes[:40]]
    more = len(graph.nodes) - 40
    return "\n".join(lines + ([f"- … {more} more"] if more > 0 else []))


def table(rows: list[dg.TableRecord]) -> dg.MetadataValue:
    """A table whose column types Dagster reads off the first row."""
    return dg.MetadataValue.table(rows)


def _log2(steps: float) -> str:
    return f"{math.log2(steps):.1f}" if steps > 0 else "–"
