"""TVM: the program as a Relax function, built with the variant's pipeline and run in TVM's virtual machine."""

from __future__ import annotations

from tensor_worker.program import Op, Program

from tensor_assets.errors import ReproRefused
from tensor_assets.repro.reference import variable
from tensor_assets.repro.spellings import Spelling
from tensor_assets.workers.adapters import AdapterFolder

PIPELINES = {
    "default": "relax.get_default_pipeline(target)",
    "transpose_fused": "tvm.transform.Sequential("
    "[relax.transform.FuseTransposeMatmul(), relax.get_default_pipeline(target)])",
    "unfused": 'relax.get_pipeline("default_build")',
}
_DTYPES = {"f16": "float16", "f32": "float32"}
_FORMS = {
    "add": "relax.op.add({0}, {1})", "sub": "relax.op.subtract({0}, {1})", "mul": "relax.op.multiply({0}, {1})",
    "div": "relax.op.divide({0}, {1})", "relu": "relax.op.nn.relu({0})", "exp": "relax.op.exp({0})",
    "square": "relax.op.multiply({0}, {0})", "rsqrt": "relax.op.rsqrt({0})",
}  # fmt: skip
_SAME_IN_HALF = ("add", "sub", "mul", "relu")
_CUDA = """\
import importlib.util, os, pathlib, shlex

# Where the CUDA wheels keep NVRTC's headers, if CUDA is installed as wheels.
spec = importlib.util.find_spec("nvidia")
roots = [pathlib.Path(place) / "cu13" for place in (spec.submodule_search_locations or ())] if spec else []
for root in (root for root in roots if (root / "lib" / "libnvrtc.so.13").is_file()):
    os.environ.setdefault("CUDA_PATH", str(root))
for root in (root for root in roots if (root / "include/cccl/cuda/std/cstdint").is_file()):
    folders = (root / "include" / "cccl", root / "include")
    os.environ.setdefault("TVM_CUDA_NVRTC_EXTRA_OPTS", shlex.join(f"-I{folder}" for folder in folders))
os.environ["TVM_CUDA_COMPILE_MODE"] = "nvrtc"
"""
_TARGETS = {
    "cpu": 'target, device = tvm.target.Target({"kind": "llvm", "mcpu": "x86-64-v3"}), tvm.cpu()',
    "sm_90": 'target = tvm.target.Target({"kind": "cuda", "arch": "sm_90", "max_shared_memory_per_block": 49152,'
    ' "max_threads_per_block": 1024, "thread_warp_size": 32}, host={"kind": "llvm"})',
    "cuda": 'device = tvm.cuda(0)\ntarget = tvm.target.Target({"kind": "cuda", "arch": "sm_" + '
    'device.compute_version.replace(".", ""), "max_shared_memory_per_block": int(device.max_shared_memory_per_block),'
    ' "max_threads_per_block": int(device.max_threads_per_block), "thread_warp_size": int(device.warp_size)},'
    ' host={"kind": "llvm"})',
}


def spell(adapter: AdapterFolder, program: Program, variant: str, target: str) -> Spelling:
    if variant not in PIPELINES:
        raise ReproRefused(f"tvm has no variant {variant!r} (have: {', '.join(PIPELINES)})")
    known = target if target in _TARGETS else "cuda"
    before = ("" if known == "cpu" else _CUDA) + "import tvm\nfrom tvm import relax"
    return Spelling(before, f"{_module_text(program)}\n\n{_TARGETS[known]}\n\n\n{_run_text(program, variant, known)}")


def _module_text(program: Program) -> str:
    declared = "\n".join(
        f'    {variable(v.name)} = relax.Var("{v.name}", relax.TensorType({v.shape}, "{_DTYPES[v.dtype]}"))'
        for v in program.inputs
    )
    inputs = ", ".join(variable(value.name) for value in program.inputs)
    body = "\n".join(f"            {variable(op.name)} = {_bound(program, op)}" for op in program.ops)
    outputs = [variable(name) for name in program.outputs]
    returned = outputs[0] if len(outputs) == 1 else f"relax.Tuple([{', '.join(outputs)}])"
    return f"""\
def module():
    builder = relax.BlockBuilder()
{declared}
    with builder.function("main", [{inputs}]):
        with builder.dataflow():
{body}
        builder.emit_func_output({returned})
    return builder.get()
"""


def _run_text(program: Program, variant: str, target: str) -> str:
    build = f"executable = relax.build(module(), target, relax_pipeline={PIPELINES[variant]})"
    if target == "sm_90":
        return f"def run(inputs):\n    {build}\n    return {{}}  # compiled; there is nothing here to run it on\n"
    one = len(program.outputs) == 1
    return f"""\
def run(inputs):
    {build}
    machine = relax.VirtualMachine(executable, device)
    arguments = [tvm.runtime.tensor(inputs[name], device) for name in INPUTS]
    returned = machine["main"](*arguments)
    return {{name: value.numpy() for name, value in zip(OUTPUTS, {"[returned]" if one else "returned"})}}
"""


def _bound(program: Program, op: Op) -> str:
    emit = "builder.emit_output" if op.name in program.outputs else "builder.emit"
    return f"{emit}({_value(program, op)})"


def _value(program: Program, op: Op) -> str:
    parts = [variable(part) if isinstance(part, str) else repr(float(part)) for part in op.of]
    if op.op == "transpose":
        axes = list(range(len(op.shape)))
        axes[-2:] = [axes[-1], axes[-2]]
        return f"relax.op.permute_dims({parts[0]}, {axes})"
    if op.op == "matmul":
        return _rounded(f'relax.op.matmul({parts[0]}, {parts[1]}, out_dtype="float32")', op)
    wide = [_wide(program, part) for part in op.of]
    if op.op in ("max", "sum", "mean"):
        return _rounded(f"relax.op.{op.op}({wide[0]}, axis=[-1], keepdims=True)", op)
    halves = all(isinstance(part, str) and program.value(part).dtype == "f16" for part in op.of)
    if halves and op.dtype == "f16" and op.op in _SAME_IN_HALF:
        return _FORMS[op.op].format(*parts)
    if op.op == "square":
        return _rounded(f"(lambda value: relax.op.multiply(value, value))({wide[0]})", op)
    return _rounded(_FORMS[op.op].format(*wide), op)


def _wide(program: Program, part: str | float) -> str:
    if not isinstance(part, str):
        return f'relax.const({float(part)!r}, "float32")'
    if program.value(part).dtype == "f32":
        return variable(part)
    return f'builder.emit(relax.op.astype({variable(part)}, "float32"))'


def _rounded(value: str, op: Op) -> str:
    return value if op.dtype == "f32" else f'relax.op.astype(builder.emit({value}), "float16")'
