"""The authored Triton kernels: the adapter's own source and tiles, launched in order on PyTorch's buffers."""

from __future__ import annotations

from tensor_worker.program import Op, Program, Value

from tensor_assets.errors import ReproRefused
from tensor_assets.repro.spellings import Spelling, adapter_module
from tensor_assets.workers.adapters import AdapterFolder

_DTYPES = {"f16": "torch.float16", "f32": "torch.float32"}


def spell(adapter: AdapterFolder, program: Program, variant: str, target: str) -> Spelling:
    if target in ("cpu", "sm_90"):
        raise ReproRefused(f"Triton's kernels run on a GPU: there is no script for {target}")
    if variant != "default":
        raise ReproRefused(
            f"which tile variant {variant!r} chooses is known on its device alone; the default has a script"
        )
    authoring, family, tiles = (adapter_module(adapter, name) for name in ("authoring", "family", "tiles"))
    kernels = family.cut(program)
    chosen = tuple(tiles.DEFAULT.clipped(kernel) for kernel in kernels)
    source = authoring.author(program, kernels, chosen)
    launches = "\n".join(
        _launch(kernel, tile, authoring.pointers(kernel)) for kernel, tile in zip(kernels, chosen, strict=True)
    )
    made = dict.fromkeys(name for kernel in kernels for name in kernel.stores)
    empties = "\n".join(_empty(program.value(name)) for name in made)
    text = source.text.partition("@triton.jit")
    return Spelling(
        "import torch\nimport triton\nimport triton.language as tl",
        f"""\
{text[1]}{text[2]}

def run(inputs):
    at = {{name: torch.from_numpy(inputs[name]).to("cuda") for name in INPUTS}}
{empties}
{launches}
    torch.cuda.synchronize()
    return {{name: at[name].cpu().numpy() for name in OUTPUTS}}
""",
    )


def _empty(value: Value | Op) -> str:
    filled = f'torch.full({value.shape}, torch.nan, dtype={_DTYPES[value.dtype]}, device="cuda")'
    return f'    at["{value.name}"] = {filled}'


def _launch(kernel: object, tile: object, pointers: tuple[str, ...]) -> str:
    """The launch as the adapter makes it; a product and a sum stay two roundings."""
    tensors = ", ".join(f'at["{name}"]' for name in pointers)
    constants = ", ".join(f"{name}={value}" for name, value in tile.constants().items())  # type: ignore[attr-defined]
    grid = tile.grid(kernel)  # type: ignore[attr-defined]
    options = f"num_warps={tile.warps}, num_stages={tile.stages}, enable_fp_fusion=False"  # type: ignore[attr-defined]
    return f"    {kernel.name}[{grid}]({tensors}, {constants}, {options})"  # type: ignore[attr-defined]
