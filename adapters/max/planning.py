"""MAX's plan: the routines of an invocation as device activities, with the code that each can run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensor_worker.activities import activity
from tensor_worker.artifacts import INFERRED, Buffer, Launch, LaunchKind, Plan
from tensor_worker.program import Program

from .code import Kernel, RoutineCode
from .roundings import roundings
from .routines import Invocation, Routine

Extent = tuple[int, int, int]

# Where a call stands that the launch trace does not show.
_AFTER_MEMSET = "after the memset that clears its workspace"
_BEFORE_KERNELS = "before the kernels of its routine and of later ones"


@dataclass(frozen=True)
class Observed:
    """One device activity as MAX's own launch trace reports it."""

    kind: str  # "kernel", "memset" or "memcpy"
    name: str
    grid: Extent = (0, 0, 0)
    block: Extent = (0, 0, 0)
    shared_bytes: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Step:
    """A launch and the routine it belongs to; None for an activity that belongs to none."""

    launch: Launch
    routine: int | None
    placed: str = ""  # where it stands by a rule, because the launch trace does not show it; empty where it does


def host_steps(invocation: Invocation, codes: Sequence[RoutineCode]) -> list[Step]:
    """On the CPU every routine is one call of generated code."""
    return [
        Step(
            Launch(
                kind="kernel",
                name=routine.name,
                parameters=launch_parameters(routine),
                computes=routine.computes,
                instruction=code.instruction if split_contraction(routine)[0] else "",
                code_sha256=code.code_sha256,
                stage="machine",
            ),
            index,
        )
        for index, (routine, code) in enumerate(zip(invocation.routines, codes, strict=True))
    ]


def compiled_steps(invocation: Invocation, codes: Sequence[RoutineCode]) -> list[Step]:
    """For a GPU that is not here: what the host code holds, in the order it refers to it; grids stay open.

    Where a routine calls a library, a kernel that multiplies is the other way to do the same contraction: the host code
    decides between the two when it runs.
    """
    steps: list[Step] = []
    for index, (routine, code) in enumerate(zip(invocation.routines, codes, strict=True)):
        if code.library_calls:
            launch = Launch(kind="library", name=code.library_calls[-1], computes=split_contraction(routine)[0])
            steps.append(Step(launch, index))
        steps += [Step(kernel_launch(kernel, routine), index) for kernel in launched_kernels(code)]
    return steps


def observed_steps(invocation: Invocation, codes: Sequence[RoutineCode], trace: Sequence[Observed]) -> list[Step]:
    """For a GPU that is here: what the launch trace saw. A kernel that MAX did not compile is a library's.

    MAX records what it enqueues itself; where it does not see the library's kernel, the call stands in its place.
    """
    owners = _Owners(codes)
    steps = [Step(*_observed(activity, invocation, owners)) for activity in trace]
    for index, (routine, code) in enumerate(zip(invocation.routines, codes, strict=True)):
        contraction, _ = split_contraction(routine)
        if code.library_calls and not set(contraction) <= _computed(index, steps):
            launch = Launch(kind="library", name=code.library_calls[-1], computes=contraction)
            place, why = _place(index, steps)
            steps.insert(place, Step(launch, index, why))
    return steps


def _computed(index: int, steps: Sequence[Step]) -> set[str]:
    """What the steps of the routine compute."""
    return {name for step in steps if step.routine == index for name in step.launch.computes}


def _place(index: int, steps: Sequence[Step]) -> tuple[int, str]:
    """After the memset that clears its workspace, before the kernels of this and later routines; and which it is."""
    owned = [(position, step.routine) for position, step in enumerate(steps) if step.routine is not None]
    end = next((position for position, routine in owned if routine >= index), len(steps))
    start = max((position + 1 for position, routine in owned if position < end), default=0)
    for position in range(start, end):
        if steps[position].launch.kind == "memset":
            return position + 1, _AFTER_MEMSET
    return end, _BEFORE_KERNELS


def launched_kernels(code: RoutineCode) -> list[Kernel]:
    """The kernels beside a library call, or all of them where there is none."""
    return [kernel for kernel in code.kernels if not (code.library_calls and kernel.instruction)]


def split_contraction(routine: Routine) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Program ops of the routine's contraction, and those that come before or after it."""
    contraction = dict.fromkeys(name for leaf in routine.leaves if leaf.contracts for name in leaf.program_ops)
    return tuple(contraction), tuple(name for name in routine.computes if name not in contraction)


def kernel_launch(kernel: Kernel, routine: Routine, observed: Observed | None = None) -> Launch:
    """A kernel that contracts nothing computes the rest of a contraction's routine, or all of another routine."""
    contraction, rest = split_contraction(routine)
    return Launch(
        kind="kernel",
        name=kernel.name,
        grid=observed.grid if observed else None,
        block=observed.block if observed else ((kernel.threads, 1, 1) if kernel.threads else None),
        registers=kernel.registers,
        shared_bytes=(kernel.shared_bytes or 0) + observed.shared_bytes if observed else kernel.shared_bytes,
        parameters=launch_parameters(routine),
        computes=routine.computes if kernel.instruction else rest,
        instruction=kernel.instruction if contraction else "",
        code_sha256=kernel.code_sha256,
        stage="machine",
    )


def launch_parameters(routine: Routine) -> dict[str, str | int | float | bool]:
    fusion = {"fusionInfo": routine.fusion, "fusion": " + ".join(routine.kinds)} if routine.kinds else {}
    return {"kernel": routine.kernel, **routine.parameters, **fusion}


def make_plan(program: Program, invocation: Invocation, steps: Sequence[Step], mogg: str, notes: Sequence[str]) -> Plan:
    """``mogg`` is the text of the stage that the routines were read from."""
    return Plan(
        launches=tuple(step.launch for step in steps),
        buffers=tuple(_buffers(program, invocation, steps)),
        roundings=tuple(roundings(program, invocation, [(step.launch, step.routine) for step in steps], mogg)),
        notes=(*notes, *_placed(steps), *_unseen(program, invocation, steps)),
    )


def _placed(steps: Sequence[Step]) -> list[str]:
    """A note for every activity whose place in the order no trace has shown."""
    return [
        f"{INFERRED}the place of {activity(position)}, {step.launch.name}, which MAX's launch trace does not show; "
        f"by rule it stands {step.placed}"
        for position, step in enumerate(steps)
        if step.placed
    ]


def _unseen(program: Program, invocation: Invocation, steps: Sequence[Step]) -> list[str]:
    """A note for every op that must be computed and that no launch is known to compute: such a plan is not whole."""
    computed = {name for step in steps for name in step.launch.computes}
    held = {name for routine in invocation.routines for name in routine.computes}
    needed = [op.name for op in program.ops if op.op == "matmul" or (op.name in held and op.op != "transpose")]
    return [f"nothing seen that computes {name}" for name in needed if name not in computed]


def inferred_notes(invocation: Invocation, codes: Sequence[RoutineCode], steps: Sequence[Step]) -> list[str]:
    """Which library launches stand in the plan by inference: no trace shows them, nor their routine's own code."""
    return [
        f"{INFERRED}{step.launch.name} computes {', '.join(step.launch.computes)}; MAX's host function for "
        f"{invocation.routines[step.routine].name} and its neighbours calls it, outside that routine's own part"
        for step in steps
        if step.routine is not None and step.launch.name in codes[step.routine].library_calls
        if codes[step.routine].inferred
    ]


def owning_routines(steps: Sequence[Step]) -> tuple[int | None, ...]:
    """Of each activity the routine that it is part of: a memset right before a library call is that call's."""
    following = (*steps[1:], None)
    return tuple(
        later.routine if later and (step.launch.kind, later.launch.kind) == ("memset", "library") else step.routine
        for step, later in zip(steps, following, strict=True)
    )


class _Owners:
    """Which routine a launched kernel belongs to: launches come in the order of the routines."""

    def __init__(self, codes: Sequence[RoutineCode]) -> None:
        self._codes = codes
        self._current = 0

    def kernel(self, name: str) -> tuple[int, Kernel] | None:
        order = [*range(self._current, len(self._codes)), *range(self._current)]
        for index in order:
            for kernel in self._codes[index].kernels:
                if _same(kernel.name, name):
                    self._current = index
                    return index, kernel
        return None

    def library(self) -> int | None:
        calling = [index for index, code in enumerate(self._codes) if code.library_calls]
        return next((index for index in calling if index >= self._current), calling[-1] if calling else None)

    def after_library(self, index: int) -> None:
        """A routine whose only device work is its library call is done with it."""
        self._current = index if launched_kernels(self._codes[index]) else index + 1


def _same(symbol: str, name: str) -> bool:
    """A trace may show the symbol without the hash that ends it."""
    return symbol == name or (bool(name) and symbol.startswith(f"{name}_"))


def _observed(activity: Observed, invocation: Invocation, owners: _Owners) -> tuple[Launch, int | None]:
    if activity.kind != "kernel":
        kind: LaunchKind = "memset" if activity.kind == "memset" else "memcpy"
        return Launch(kind=kind, name=activity.name, parameters={"bytes": activity.bytes}), None
    if owned := owners.kernel(activity.name):
        index, kernel = owned
        routine = invocation.routines[index]
        return kernel_launch(kernel, routine, activity), index
    found = owners.library()
    computes = split_contraction(invocation.routines[found])[0] if found is not None else ()
    if found is not None:
        owners.after_library(found)
    launch = Launch(
        kind="library",
        name=activity.name,
        grid=activity.grid,
        block=activity.block,
        shared_bytes=activity.shared_bytes,
        computes=computes,
    )
    return launch, found


def _buffers(program: Program, invocation: Invocation, steps: Sequence[Step]) -> list[Buffer]:
    launches_of: dict[int, list[int]] = {}
    for position, step in enumerate(steps):
        if step.routine is not None:
            launches_of.setdefault(step.routine, []).append(position)
    readers = _users(invocation, launches_of, reading=True)
    writers = _users(invocation, launches_of, reading=False)
    names = {buffer: value.name for buffer, value in zip(invocation.inputs, program.inputs, strict=False)}
    outputs = dict(zip(invocation.outputs, program.outputs, strict=False))
    found = [
        Buffer(name=names.get(buffer, buffer), role="input", bytes=size, last=max(readers.get(buffer, [0])))
        for buffer, size in invocation.inputs.items()
    ]
    for buffer, allocation in invocation.allocations.items():
        found.append(
            Buffer(
                name=outputs.get(buffer) or _written_by(buffer, invocation),
                role="output" if buffer in outputs else "intermediate",
                bytes=allocation.bytes,
                first=min(writers[buffer]) if buffer in writers else None,
                last=max(readers[buffer]) if buffer in readers else None,
            )
        )
    return found + _between_kernels(invocation, steps, launches_of) + _workspaces(steps)


def _users(invocation: Invocation, launches_of: Mapping[int, list[int]], reading: bool) -> dict[str, list[int]]:
    users: dict[str, list[int]] = {}
    for index, routine in enumerate(invocation.routines):
        for buffer in routine.reads if reading else routine.writes:
            users.setdefault(buffer, []).extend(launches_of.get(index, []))
    return {buffer: positions for buffer, positions in users.items() if positions}


def _written_by(buffer: str, invocation: Invocation) -> str:
    """An intermediate is called after the last op that its writer computes, beside its native name."""
    writer = next((routine for routine in invocation.routines if buffer in routine.writes), None)
    return f"{writer.computes[-1]} ({buffer})" if writer and writer.computes else buffer


def _between_kernels(
    invocation: Invocation, steps: Sequence[Step], launches_of: Mapping[int, list[int]]
) -> list[Buffer]:
    """A routine of a library call and an epilogue kernel hands its contraction over in the memory of its output."""
    found = []
    for index, positions in launches_of.items():
        routine = invocation.routines[index]
        library = [position for position in positions if steps[position].launch.kind == "library"]
        if library and len(positions) > len(library) and routine.writes:
            contraction, _ = split_contraction(routine)
            size = invocation.allocations[routine.writes[0]].bytes
            name = f"{', '.join(contraction)} (in the memory of {routine.writes[0]})"
            found.append(Buffer(name=name, role="intermediate", bytes=size, first=library[0], last=max(positions)))
    return found


def _workspaces(steps: Sequence[Step]) -> list[Buffer]:
    """What is cleared at every invocation is the library's workspace."""
    return [
        Buffer(name=step.launch.name, role="workspace", bytes=int(step.launch.parameters["bytes"]), first=position)
        for position, step in enumerate(steps)
        if step.launch.kind == "memset"
    ]
