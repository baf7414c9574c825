"""What an invocation does, read from MAX's MGP program: buffers, and routines in the order they are dispatched.

The text is the program's own part of ``NAME.mogg-to-mgp.mlir`` (dumps.py).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from itertools import zip_longest

from .locations import Locations

ITEM_BYTES = {"f16": 2, "f32": 4, "f64": 8, "bf16": 2, "si64": 8, "si32": 4, "bool": 1}

_ALLOC = re.compile(r"\s+(%\w+) = mgp\.buffer\.alloc [^,]+, (%\w+), [^,]+, align (\d+)")
_CONSTANT = re.compile(r"\s+(%\w+) = index\.constant (\d+)")
_EXTRACT = re.compile(r"\s+(%\w+) = mgp\.tensor\.extract\.buffer (%\w+)")
_CREATE = re.compile(r"\s+(%\w+) = mgp\.tensor\.create (%\w+), (%\w+)")
_ROUTINE = re.compile(r"\s+(?:%\w+ = )?mogg\.routine(?:\.async)? [^(]*(?:\([^%)]*\) )?\(([^)]*)\)")
_CALL = re.compile(r"\s+mogg\.call @(\S+) ")
_ROUTINE_END = re.compile(r'fusionInfo = (#\w+).*inOutSignature = <"(\w*)\.?(\w*)">')
_OUTPUT = re.compile(r"\s+mef\.output (.*?) : ")
_OTHER = re.compile(r"\s+(?:%\S+ = )?(mgp\.buffer\.(?!alloc)\w+|mgp\.device_wait|mgp\.sync)\b")
_ARGUMENT = re.compile(r"(%arg\d+): !mgp\.tensor<((?:\d+x)*)(\w+)")
_LEAF = re.compile(r'#mogg\.fusion_leaf<"([\w.]+)", loc = (#?\w+(?:\([^)]*\))?)')
_FUSION = re.compile(r"(#\w+) = #mogg\.fusion<")
_FUSION_KIND = re.compile(r"#mogg\.fusion_(epilogue|prologue|view|elementwise)\b")
_KERNEL_CALL = re.compile(r"\s+mogg\.call\.(?:opaque|foreach) @([\w.]+)(?:\[([^\]]*)\])?")
_FLAG = re.compile(r"\bhas\w+Fusion = \w+")
_ASSIGNMENT = re.compile(r"(\w+) = ([\w.+-]+)")


@dataclass(frozen=True)
class Leaf:
    """One MO operation inside a fused routine."""

    op: str
    program_ops: tuple[str, ...]

    @property
    def contracts(self) -> bool:
        return "matmul" in self.op


@dataclass(frozen=True)
class Routine:
    """One dispatch. ``reads`` and ``writes`` are buffer names; lines are those of the stage, 1-based."""

    name: str
    fusion: str
    leaves: tuple[Leaf, ...]
    kinds: tuple[str, ...]  # how the leaves were put together: epilogue, prologue, view, elementwise
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    lines: tuple[int, int]
    body: tuple[int, int]  # lines of the mogg.func that it calls
    kernel: str  # the library kernel that the body calls, e.g. builtin_kernels.linalg.MatmulCPU
    parameters: dict[str, str | bool]

    @property
    def computes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for leaf in self.leaves for name in leaf.program_ops))

    @property
    def contracts(self) -> bool:
        return any(leaf.contracts for leaf in self.leaves)


@dataclass(frozen=True)
class Allocation:
    name: str
    bytes: int
    align: int


@dataclass
class Invocation:
    """One invocation: ``inputs`` and ``outputs`` are buffer names in argument and result order."""

    inputs: dict[str, int] = field(default_factory=dict)  # buffer → bytes
    allocations: dict[str, Allocation] = field(default_factory=dict)
    routines: list[Routine] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)  # copies, memsets and waits that are no routine


def read_invocation(text: str, program_ops: tuple[str, ...]) -> Invocation:
    """Raises ValueError where the text holds no ``mgp.model`` with an ``execute`` part."""
    lines = text.splitlines()
    start = next((index for index, line in enumerate(lines) if "execute (%arg" in line), None)
    if start is None:
        raise ValueError("no execute part in MAX's MGP program")
    return _Reader(lines, start, program_ops).read()


class _Reader:
    def __init__(self, lines: list[str], start: int, program_ops: tuple[str, ...]) -> None:
        self._lines = lines
        self._start = start
        self._locations = Locations(lines, program_ops)
        self._fusions = {match[1]: line for line in lines if (match := _FUSION.match(line))}
        self._constants: dict[str, int] = {}
        self._tensors = {match[1]: _bytes(match[2], match[3]) for match in _ARGUMENT.finditer(lines[start])}
        self._arguments = list(self._tensors)
        self._buffer_of: dict[str, str] = {}  # tensor value → the first buffer value taken from it
        self._first: dict[str, str] = {}  # another buffer value of the same tensor → that first one
        self._result = Invocation()

    def read(self) -> Invocation:
        index = self._start + 1
        while index < len(self._lines) and not self._lines[index].startswith("  }"):
            index = self._read_line(index)
        taken = [self._buffer_of[tensor] for tensor in self._arguments if tensor in self._buffer_of]
        self._result.inputs = {buffer: self._result.inputs[buffer] for buffer in taken}
        return self._result

    def _read_line(self, index: int) -> int:
        """Returns the index of the next line to read; a routine spans several."""
        line = self._lines[index]
        if match := _ROUTINE.match(line):
            return self._read_routine(index, match)
        if match := _CONSTANT.match(line):
            self._constants[match[1]] = int(match[2])
        elif match := _ALLOC.match(line):
            self._result.allocations[match[1]] = Allocation(match[1], self._constants.get(match[2], 0), int(match[3]))
        elif match := _EXTRACT.match(line):
            self._extract(buffer=match[1], tensor=match[2])
        elif match := _CREATE.match(line):
            self._buffer_of[match[1]] = self._first.get(match[3], match[3])
        elif match := _OUTPUT.match(line):
            tensors = match[1].split(", ")[1:]  # the first value is the chain
            self._result.outputs = [self._buffer_of.get(tensor, tensor) for tensor in tensors]
        elif match := _OTHER.match(line):
            self._result.other.append(match[1])
        return index + 1

    def _extract(self, buffer: str, tensor: str) -> None:
        """Every routine takes its own operands out of their tensors: the same memory, under another name."""
        first = self._buffer_of.setdefault(tensor, buffer)
        if buffer != first:
            self._first[buffer] = first
        elif tensor in self._tensors:
            self._result.inputs[buffer] = self._tensors[tensor]

    def _read_routine(self, start: int, match: re.Match[str]) -> int:
        values = [operand.strip() for operand in match[1].split(",")]
        operands = [self._first.get(value, value) for value in values]
        name, index = "", start
        while index < len(self._lines):
            if call := _CALL.match(self._lines[index]):
                name = call[1]
            if end := _ROUTINE_END.search(self._lines[index]):
                self._add_routine(name, end, operands, (start + 1, index + 1))
                return index + 1
            index += 1
        raise ValueError(f"the routine at line {start + 1} of MAX's MGP program has no end")

    def _add_routine(self, name: str, end: re.Match[str], operands: list[str], lines: tuple[int, int]) -> None:
        known = self._result.inputs.keys() | self._result.allocations.keys()
        # The signature names one letter an operand: i for read, o for written. The chain comes first.
        letters = [pair for pair in zip_longest(operands, end[2]) if pair[0] in known]
        reads = tuple(dict.fromkeys(operand for operand, letter in letters if letter != "o"))
        writes = tuple(dict.fromkeys(operand for operand, letter in letters if letter == "o"))
        body = self._body(name)
        kernel, parameters = self._kernel_call(body)
        self._result.routines.append(
            Routine(
                name=name.lstrip("_"),
                fusion=end[1].lstrip("#"),
                leaves=self._leaves(end[1]),
                kinds=tuple(dict.fromkeys(_FUSION_KIND.findall(self._fusions.get(end[1], "")))),
                reads=reads,
                writes=writes,
                lines=lines,
                body=body,
                kernel=kernel,
                parameters=parameters,
            )
        )

    def _body(self, name: str) -> tuple[int, int]:
        """1-based lines of ``mogg.func @name``."""
        start = next((i for i, line in enumerate(self._lines) if line.startswith(f"  mogg.func @{name} ")), None)
        if start is None:
            return (0, 0)
        end = next(i for i in range(start, len(self._lines)) if self._lines[i].startswith("  }"))
        return (start + 1, end + 1)

    def _kernel_call(self, body: tuple[int, int]) -> tuple[str, dict[str, str | bool]]:
        """The body's call of a library kernel, and what it fixes; a foreach over elements is one too."""
        for line in self._lines[max(body[0] - 1, 0) : body[1]]:
            if match := _KERNEL_CALL.match(line):
                fixed = (match[2] or "") + ", " + ", ".join(_FLAG.findall(line))
                return match[1], {key: _parameter(value) for key, value in _ASSIGNMENT.findall(fixed)}
        return "", {}

    def _leaves(self, fusion: str) -> tuple[Leaf, ...]:
        text = self._fusions.get(fusion, "")
        return tuple(Leaf(op=op, program_ops=self._locations.of(where)) for op, where in _LEAF.findall(text))


def _parameter(value: str) -> str | bool:
    return {"true": True, "false": False}.get(value, value)


def _bytes(extents: str, dtype: str) -> int:
    return math.prod(int(extent) for extent in extents.split("x") if extent) * ITEM_BYTES.get(dtype, 0)
