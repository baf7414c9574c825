"""Run by the tests in Triton's environment with TRITON_INTERPRET=1: the authored kernels' arithmetic, without a GPU.

Arguments: the adapter's folder, the repository's fixtures folder. Prints {workload: {tile: wrong elements}} as JSON.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import torch
from tensor_worker.adapter import Unsupported
from tensor_worker.loading import load_adapter

from tensor_assets.contract.fixtures import build_fixtures
from tensor_assets.contract.manifest import load_workloads
from tensor_assets.contract.shapes import load_shapes

DTYPES = {"f16": torch.float16, "f32": torch.float32}


def main(folder: str, fixtures: str) -> None:
    load_adapter(Path(folder))
    shapes = load_shapes(Path(fixtures) / "shapes.json")
    found: dict[str, dict[str, int] | str] = {}
    for name, manifest in load_workloads([Path(fixtures) / "workloads"]).items():
        program = manifest.program("matrix_inspect", shapes)
        try:
            kernels = import_module("tensor_adapter.family").cut(program)
        except Unsupported as error:
            found[name] = str(error)
            continue
        exact = [fixture for fixture in build_fixtures(program) if fixture.exact]
        # Tiles that divide 8 x 16 x 24 nowhere, in one axis, and hang over K.
        found[name] = {str(sizes): wrong(program, kernels, sizes, exact) for sizes in ((16, 16, 16), (32, 16, 32))}
    print(json.dumps(found))


def wrong(program, kernels, sizes, fixtures) -> int:
    tiles = import_module("tensor_adapter.tiles")
    authoring = import_module("tensor_adapter.authoring")
    tile = tiles.Tile(*sizes, warps=4, stages=3)
    source = authoring.author(program, kernels, (tile,) * len(kernels))
    functions = import_module("tensor_adapter.compiling").load_functions(source)
    count = 0
    for fixture in fixtures:
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in fixture.inputs.items()}
        for kernel in kernels:
            for name in kernel.stores:
                value = program.value(name)
                tensors[name] = torch.full(value.shape, torch.nan, dtype=DTYPES[value.dtype])
            behind = [tensors[name] for name in authoring.pointers(kernel)]
            functions[kernel.name][tile.grid(kernel)](*behind, **tile.constants())
        count += sum(int((tensors[name].numpy() != right).sum()) for name, right in fixture.reference.items())
    return count


if __name__ == "__main__":
    main(*sys.argv[1:])
