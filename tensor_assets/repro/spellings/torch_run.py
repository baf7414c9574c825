"""What eager mode and Inductor share: half of a script that hands arrays to PyTorch and takes them back."""

from __future__ import annotations

from tensor_worker.program import Program

from tensor_assets.errors import ReproRefused

BEFORE = "import torch"
SETTINGS = """\
torch.set_grad_enabled(False)
# Sums in FP32: no split sums in half precision, no TF32.
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
torch.backends.cuda.matmul.allow_tf32 = False
"""


def torch_device(target: str, what: str) -> str:
    if target == "sm_90":
        raise ReproRefused(f"{what} makes no code for sm_90 without the device")
    return "cpu" if target == "cpu" else "cuda"


def run_lines(program: Program, call: str, target: str, what: str) -> str:
    device = torch_device(target, what)
    return f"""\
def run(inputs):
    arguments = [torch.from_numpy(inputs[name]).to("{device}") for name in INPUTS]
    returned = {call}(*arguments)
    return {{name: tensor.cpu().numpy() for name, tensor in zip(OUTPUTS, returned)}}
"""


def function_text(source: str) -> str:
    """The function alone: its module's import is in the script already."""
    return source.partition("def ")[1] + source.partition("def ")[2].rstrip() + "\n"
