"""Any two configurations beside each other: what the compare page loads of each, one script a configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tensor_worker.artifacts import Launch

from tensor_assets.records import Key, Timing
from tensor_assets.report.faces import Face, face_of
from tensor_assets.report.matrix import configuration_page
from tensor_assets.report.quantities import duration, extents, percent, size
from tensor_assets.report.reading import Configuration, PublicStore, Snapshot
from tensor_assets.report.tables import intermediate_bytes, process_range

# A longer stage is compared by its beginning; its page and its evidence have the rest.
MOST_CHARACTERS = 60_000


def write_compared(snapshot: Snapshot, store: PublicStore, faces: dict[str, Face], folder: Path) -> None:
    """Write every configuration under ``folder/compare``, and the index that the page chooses from."""
    (folder / "compare").mkdir(exist_ok=True)
    index = []
    for workload in snapshot.workloads():
        own = (c for c in snapshot.configurations if c.key.workload == workload)
        for configuration in sorted(own, key=lambda c: (c.key.target, c.key.shape, c.key.compiler, c.key.variant)):
            name = snapshot.names.compared[configuration.capture_id]
            _write(folder / "compare" / f"{name}.js", name, _facts(snapshot, configuration, store, faces))
            index.append([name, workload, _label(configuration, faces)])
    _write(folder / "compare" / "index.js", "index", {"rows": index, "opening": _opening(snapshot)})


def _opening(snapshot: Snapshot) -> list[str]:
    """What the page shows before anybody chooses: two compilers' default forms of the program that most could run,
    on the first target that has two."""
    names = snapshot.names.compared
    for target in snapshot.targets():
        ran: dict[str, list[Configuration]] = {}
        for c in snapshot.configurations:
            shown = c.key.target == target and c.key.shape == snapshot.main_shape(c.key.workload, target)
            if shown and c.key.variant == "default" and c.status == "ok":
                ran.setdefault(c.key.workload, []).append(c)
        most = max(ran.values(), key=lambda own: (len(own), sum(len(c.stage_files()) for c in own)), default=[])
        if len(most) > 1:
            return [names[c.capture_id] for c in sorted(most, key=lambda c: -len(c.stage_files()))[:2]]
    return []


def comparisons(snapshot: Snapshot, configuration: Configuration, faces: dict[str, Face]) -> list[tuple[str, str]]:
    """What a reader of this configuration may want beside it: label and the compare page's address part."""
    key, status = configuration.key, ("ok", "rejected")
    near = [
        other
        for other in snapshot.configurations
        if other is not configuration
        and other.status in status
        and other.key.workload == key.workload
        and (other.key.compiler == key.compiler or (other.key.target, other.key.shape) == (key.target, key.shape))
    ]
    if configuration.status not in status:
        return []
    near.sort(key=lambda other: (other.key.compiler != key.compiler, other.key.compiler, other.key.variant))
    names = snapshot.names.compared
    mine = names[configuration.capture_id]
    return [(_short(other, key, faces), f"a={mine}&b={names[other.capture_id]}") for other in near[:8]]


def _short(other: Configuration, key: Key, faces: dict[str, Face]) -> str:
    """Only what differs from the page it stands on."""
    parts = [face_of(other.key.compiler, faces).title] if other.key.compiler != key.compiler else []
    if other.key.variant != key.variant or not parts:
        parts.append(other.key.variant)
    parts += [
        getattr(other.key, part) for part in ("target", "shape") if getattr(other.key, part) != getattr(key, part)
    ]
    return " ".join(parts)


def _write(path: Path, name: str, data: object) -> None:
    text = json.dumps(data, ensure_ascii=True).replace("</", "<\\/")
    path.write_text(f"tensorAssetsCompared({json.dumps(name)}, {text});\n", encoding="utf-8")


def _label(configuration: Configuration, faces: dict[str, Face]) -> str:
    key = configuration.key
    return f"{face_of(key.compiler, faces).title} {key.variant} · {key.target} · {key.shape}"


def _facts(
    snapshot: Snapshot, configuration: Configuration, store: PublicStore, faces: dict[str, Face]
) -> dict[str, Any]:
    capture, plan = configuration.capture, configuration.capture.plan
    admission, benchmark = capture.admission, configuration.benchmark
    return {
        "label": f"{configuration.key.workload} × {_label(configuration, faces)}",
        "compiler": configuration.key.compiler,
        "colour": face_of(configuration.key.compiler, faces).colour,
        "page": configuration_page(snapshot, configuration),
        "allocation": benchmark.allocation.id if benchmark and benchmark.allocation else "",
        "facts": {
            "outcome": capture.outcome.status + (f": {capture.outcome.reason}" if capture.outcome.reason else ""),
            "version": capture.version,
            "environment": configuration.key.environment[:16],
            "fingerprint": capture.fingerprint[:16],
            "broken boundary": admission.boundary if admission else "",
            "device activities": str(len(plan.launches)) if plan else "",
            "memory between them": str(size(intermediate_bytes(plan))) if plan and plan.buffers else "",
            "rounded": "; ".join(f"{r.boundary} in {r.launch + 1}" for r in plan.roundings) if plan else "",
        },
        "times": {
            f"{t.clock}, {t.cache}, {t.data}": _time(t) for t in configuration.timings if t.median_ns is not None
        },
        "launches": [_launch(launch) for launch in plan.launches] if plan else [],
        "stages": [_stage(store, stage, file) for stage, file in configuration.stage_files()],
    }


def _time(timing: Timing) -> dict[str, Any]:
    assert timing.median_ns is not None
    low, high = process_range(timing) or (timing.median_ns, timing.median_ns)
    return {
        "ns": timing.median_ns,
        "noise": timing.noise,
        "text": str(duration(timing.median_ns)),
        "spread": f"{duration(low)} – {duration(high)}",
        "said": f"A/A ±{percent(timing.noise)}" if timing.noise is not None else "A/A not known",
    }


def _launch(launch: Launch) -> dict[str, str]:
    return {
        "name": launch.name,
        "kind": launch.kind,
        "computes": " ".join(launch.computes),
        "grid": extents(launch.grid),
        "block": extents(launch.block),
        "registers": "–" if launch.registers is None else str(launch.registers),
        "shared bytes": "–" if launch.shared_bytes is None else f"{launch.shared_bytes:,}",
        "instruction": launch.instruction or "–",
        "code": launch.code_sha256[:7],
    }


def _stage(store: PublicStore, stage: Any, file: Any) -> dict[str, Any]:
    why = store.why_private(file.text)
    text = f"not shown: {why}" if why else store.read(file.text).decode(errors="replace")
    return {
        "name": stage.name,
        "title": stage.title,
        "level": stage.level,
        "sha256": file.text.sha256,
        "cut": len(text) > MOST_CHARACTERS,
        "text": text[:MOST_CHARACTERS],
    }
