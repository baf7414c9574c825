"""MAX's plan: the routines of an invocation as device activities, with the code that each can run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensor_worker.artifacts import Buffer, Launch, LaunchKind, Plan
from tensor_worker.program import Program

from .code import Kernel, RoutineCode
from .roundings import roundings
from .routines import Invocation, Routine

Extent = tuple[int, int, int]


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
        contraction, rest = split_contraction(routine)
        if code.library_calls:
            launch = Launch(kind="library", name=code.library_calls[-1], computes=contraction)
            steps.append(Step(launch, index))
        for kernel in launched_kernels(code):
            computes = rest if code.library_calls else routine.computes
            steps.append(Step(kernel_launch(kernel, routine, computes), index))
    return steps


def observed_steps(invocation: Invocation, codes: Sequence[RoutineCode], trace: Sequence[Observed]) -> list[Step]:
    """For a GPU that is here: what the launch trace saw. A kernel that MAX did not compile is a library's.

    MAX records what it enqueues itself; where it does not see the library's kernel, the call stands in its place.
    """
    owners = _Owners(codes)
    steps = [Step(*_observed(activity, invocation, owners)) for activity in trace]
    for index, (routine, code) in enumerate(zip(invocation.routines, codes, strict=True)):
        if code.library_calls and not _multiplied(index, steps):
            launch = Launch(kind="library", name=code.library_calls[-1], computes=split_contraction(routine)[0])
            steps.insert(_place(index, steps), Step(launch, index))
    return steps


def _multiplied(index: int, steps: Sequence[Step]) -> bool:
    """Whether the routine's contraction is among the steps: by the library, or by a kernel that multiplies."""
    own = [step.launch for step in steps if step.routine == index]
    return any(launch.kind == "library" or launch.instruction for launch in own)


def _place(index: int, steps: Sequence[Step]) -> int:
    """Before the first kernel of this or a later routine; the host code calls the library first."""
    later = [position for position, step in enumerate(steps) if step.routine is not None and step.routine >= index]
    return later[0] if later else len(steps)


def launched_kernels(code: RoutineCode) -> list[Kernel]:
    """The kernels beside a library call, or all of them where there is none."""
    return [kernel for kernel in code.kernels if not (code.library_calls and kernel.instruction)]


def split_contraction(routine: Routine) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Program ops of the routine's contraction, and those that come before or after it."""
    contraction = dict.fromkeys(name for leaf in routine.leaves if "matmul" in leaf.op for name in leaf.program_ops)
    return tuple(contraction), tuple(name for name in routine.computes if name not in contraction)


def kernel_launch(
    kernel: Kernel, routine: Routine, computes: tuple[str, ...], observed: Observed | None = None
) -> Launch:
    return Launch(
        kind="kernel",
        name=kernel.name,
        grid=observed.grid if observed else None,
        block=observed.block if observed else ((kernel.threads, 1, 1) if kernel.threads else None),
        registers=kernel.registers,
        shared_bytes=(kernel.shared_bytes or 0) + observed.shared_bytes if observed else kernel.shared_bytes,
        parameters=launch_parameters(routine),
        computes=computes,
        instruction=kernel.instruction,
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
        notes=tuple(notes),
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
        contraction, rest = split_contraction(routine)
        computes = rest if contraction and not kernel.instruction else routine.computes
        return kernel_launch(kernel, routine, computes, activity), index
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
