"""tinygrad: lazy tensors, op by op as the adapter lowers them."""

from __future__ import annotations

from tensor_worker.program import Op, Program

from tensor_assets.errors import ReproRefused
from tensor_assets.repro.reference import variable
from tensor_assets.repro.spellings import Spelling
from tensor_assets.workers.adapters import AdapterFolder

BEAMS = {"default": 0, "widened": 0, "tuned": 2, "expanded": 8}
_DTYPES = {"f16": "dtypes.half", "f32": "dtypes.float32"}
_FORMS = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "relu": "{0}.relu()",
    "exp": "{0}.exp()", "square": "{0} * {0}", "rsqrt": "{0}.rsqrt()",
}  # fmt: skip
# On FP16 operands these give the same bits in FP16 as in FP32 rounded to FP16.
_SAME_IN_HALF = ("add", "sub", "mul", "relu")


def spell(adapter: AdapterFolder, program: Program, variant: str, target: str) -> Spelling:
    if variant not in BEAMS:
        raise ReproRefused(f"tinygrad has no variant {variant!r} (have: {', '.join(BEAMS)})")
    if target == "sm_90":
        raise ReproRefused("tinygrad's code for sm_90 is made by pieces of its inside: there is no program to report")
    device = "CPU" if target == "cpu" else "CUDA"
    writer = _Writer(program, widen=variant == "widened", promotes_half=target == "cpu")
    before = f"""\
import os, shutil

os.environ["DEV"] = "{device}"
{_CLANG if target == "cpu" else ""}from tinygrad import Context, Tensor, dtypes"""
    body = "\n".join(f"        {line}" for op in program.ops for line in writer.lines(op))
    loads = "\n".join(f'        {variable(v.name)} = Tensor(inputs["{v.name}"]).realize()' for v in program.inputs)
    results = ", ".join(variable(name) for name in program.outputs)
    return Spelling(
        before,
        f"""\
def run(inputs):
    with Context(BEAM={BEAMS[variant]}):
{loads}
{body}
        results = [{results}]
        Tensor.realize(*results)
        return {{name: value.numpy() for name, value in zip(OUTPUTS, results)}}
""",
    )


_CLANG = """\
if not os.environ.get("CC"):
    found = [name for name in ("clang", *(f"clang-{n}" for n in range(25, 12, -1))) if shutil.which(name)]
    os.environ["CC"] = found[0] if found else "clang"
"""


class _Writer:
    """The adapter's rules: what is widened to FP32, what is cast, where the CPU needs a buffer to round at all."""

    def __init__(self, program: Program, *, widen: bool, promotes_half: bool) -> None:
        self._program, self._widen, self._promotes_half = program, widen, promotes_half
        self._inputs = {value.name for value in program.inputs}
        self._in_arithmetic = {name for op in program.ops if op.op not in ("relu", "transpose") for name in op.of}

    def lines(self, op: Op) -> list[str]:
        return [f"{variable(op.name)} = {self._value(op)}"]

    def _value(self, op: Op) -> str:
        if op.op == "transpose":
            return f"{self._name(op.of[0])}.transpose(-2, -1)"
        if op.op == "matmul":
            wide = self._widen or any(self._dtype(part) == "f32" for part in op.of)
            left, right = (self._wide(part) if wide else self._name(part) for part in op.of)
            return f"{left}.matmul({right}, dtype=dtypes.float32).cast({_DTYPES[op.dtype]})"
        if op.op in ("max", "sum", "mean"):
            return f"{self._reduction(op)}.cast({_DTYPES[op.dtype]})"
        return self._elementwise(op)

    def _reduction(self, op: Op) -> str:
        value = f"{self._name(op.of[0])}.cast(dtypes.float32)"
        if op.op == "max":
            return f"{value}.max(axis=-1, keepdim=True)"
        total = f"{value}.sum(axis=-1, keepdim=True, dtype=dtypes.float32)"
        length = self._program.value(str(op.of[0])).shape[-1]
        return f"({total} / {length})" if op.op == "mean" else total

    def _elementwise(self, op: Op) -> str:
        halves = op.dtype == "f16" and op.op in _SAME_IN_HALF and all(self._dtype(part) == "f16" for part in op.of)
        lossy = self._promotes_half and op.op != "relu" and op.name in self._in_arithmetic
        if halves and not (lossy and self._inputs.issuperset(op.of)):
            value = _FORMS[op.op].format(*(self._name(part) for part in op.of))
            return f"({value}).contiguous()" if lossy else value
        value = _FORMS[op.op].format(*(self._wide(part) for part in op.of))
        return f"({value}).cast({_DTYPES[op.dtype]})"

    def _name(self, part: str | float) -> str:
        return variable(part) if isinstance(part, str) else repr(float(part))

    def _wide(self, part: str | float) -> str:
        return f"{variable(part)}.cast(dtypes.float32)" if isinstance(part, str) else repr(float(part))

    def _dtype(self, part: str | float) -> str:
        return self._program.value(part).dtype if isinstance(part, str) else ""
