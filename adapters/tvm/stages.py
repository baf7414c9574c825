"""Writes every representation that TVM passes through."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tensor_worker.artifacts import Excerpt, Level, Stage
from tensor_worker.dump import write_stage
from tvm import IRModule

from .device_code import Code
from .passes import PassRecorder
from .rules import Replay, Scheduled, trace_json
from .semantic import STAGE

# Passes whose module is a stage of its own: name of the stage, title, level, and the pass as TVM calls it.
_MILESTONES: tuple[tuple[str, str, Level, str], ...] = (
    ("transpose-fused", "Transposes folded into contractions", "semantic", "FuseTransposeMatmul"),
    ("legalized", "Legalized to TensorIR", "scheduled", "LegalizeOps"),
    ("grouped", "Groups to fuse", "scheduled", "FuseOps"),
    ("fused", "Fused TensorIR", "scheduled", "FuseTIR"),
    ("dlight", "Scheduled by DLight", "scheduled", "ApplyDefaultSchedule"),
    ("destinations", "Destinations and storage", "scheduled", "StaticPlanBlockMemory"),
    ("host-and-device", "Host and device functions", "scheduled", "tirx.SplitHostDevice"),
    ("lowered", "TensorIR before code generation", "scheduled", "tirx.LowerIntrin"),
)
_CHANGES = 150
SCHEDULES = "schedules"
SOURCE = "source"
MACHINE = "machine"


def relax_text(module: IRModule) -> str:
    return str(module.script()) + "\n"


def write_stages(
    dump_dir: Path, original: str, recorder: PassRecorder, scheduled: Sequence[Scheduled],
    replays: Mapping[str, Replay | None], bytecode: str, code: Code,
) -> tuple[Stage, ...]:  # fmt: skip
    stages = [write_stage(dump_dir, STAGE, "Relax", "semantic", "tvmscript", original, "relax.BlockBuilder")]
    for name, title, level, passed in _MILESTONES:
        module = recorder.after(passed)
        if module is not None:
            stages.append(write_stage(dump_dir, name, title, level, "tvmscript", relax_text(module), passed))
    if scheduled:
        stages.append(_schedules(dump_dir, scheduled))
        stages.append(_traces(dump_dir, scheduled, replays))
    stages.append(_passes(dump_dir, original, recorder))
    stages.append(write_stage(dump_dir, "bytecode", "Virtual machine code", "code", "text", bytecode, "VMExecutable"))
    on_gpu = code.source_language == "cuda"
    title = "CUDA" if on_gpu else "LLVM IR"
    stages.append(write_stage(dump_dir, SOURCE, title, "code", code.source_language, code.source, "inspect_source"))
    title, by = ("SASS", "NVRTC, nvdisasm") if on_gpu else ("Assembly", "LLVM, inspect_source")
    stages.append(write_stage(dump_dir, MACHINE, title, "machine", code.machine_language, code.machine, by))
    return tuple(stages)


def _schedules(dump_dir: Path, scheduled: Sequence[Scheduled]) -> Stage:
    """The traces as the Python that TVM prints of them, and for each function which rules were asked."""
    parts = []
    for one in scheduled:
        asked = "".join(f"# {rule}: declined\n" for rule in one.declined)
        parts.append(f"# {one.function}\n{asked}# {one.rule or 'no rule'}: applied\n{one.trace}\n")
    return write_stage(
        dump_dir, SCHEDULES, "DLight rules and schedule traces", "scheduled", "python", "\n".join(parts),
        "ApplyDefaultSchedule, Schedule.trace",
    )  # fmt: skip


def _traces(dump_dir: Path, scheduled: Sequence[Scheduled], replays: Mapping[str, Replay | None]) -> Stage:
    """The traces as data, written out, read back and applied to the unscheduled functions again."""
    entries = []
    for one in scheduled:
        again = replays[one.function]
        entries.append(
            {
                "function": one.function,
                "rule": one.rule,
                "declined": one.declined,
                "instructions": again.instructions if again else 0,
                "replays_structurally_equal": again.equal if again else None,
                "replays_structurally_equal_from_json": again.equal_from_json if again else None,
                "trace": json.loads(trace_json(one)) if again else None,
            }
        )
    text = json.dumps(entries, indent=1) + "\n"
    return write_stage(dump_dir, "traces", "Schedule traces, replayed", "scheduled", "json", text, "Trace.as_json")


def _passes(dump_dir: Path, original: str, recorder: PassRecorder) -> Stage:
    """Every pass in order, and the difference that it made to the module's text.

    A pass that rewrites every line (flattening, splitting host from device) would fill megabytes, so no more than
    _CHANGES lines of each are kept; the modules that such passes leave are stages of their own.
    """
    whole: list[str] = []
    kept: list[tuple[int, int]] = []
    before = original
    for passed in recorder.passed:
        after = relax_text(passed.module) if passed.changed else before
        difference = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
        changes = [line for line in difference if not line.startswith(("---", "+++"))]
        kept.append((len(whole) + 1, len(whole) + 1 + min(len(changes), _CHANGES)))
        whole += [f"# {passed.number}: {passed.name}" + ("" if changes else ": no change"), *changes]
        before = after
    text = "\n".join(line for start, end in kept for line in whole[start - 1 : end]) + "\n"
    everything = ("\n".join(whole) + "\n").encode()
    cut = Excerpt(
        sha256=hashlib.sha256(everything).hexdigest(),
        bytes=len(everything),
        lines=tuple(kept),
        reason=f"at most {_CHANGES} changed lines of each pass",
    )
    by = "PassInstrument.run_after_pass"
    excerpt = cut if len(text) < len(everything) else None
    return write_stage(dump_dir, "passes", "Every pass", "scheduled", "text", text, by, excerpt)
