"""Every workload's manifest at every shape, and the code location that Dagster loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tensor_assets.contract.explain import check_workload
from tensor_assets.contract.shapes import load_shapes
from tensor_assets.doctor.findings import Finding, fail, first_line, ok
from tensor_assets.errors import ManifestError
from tensor_assets.settings import Settings


def check_workloads(settings: Settings) -> Iterator[Finding]:
    """Each manifest by itself, so that every wrong one is named; two of one name are wrong too."""
    try:
        shapes = load_shapes(settings.shapes)
    except ManifestError as error:
        yield fail("shapes", str(error), f"mend {settings.shapes}")
        return
    names: dict[str, Path] = {}
    wrong = 0
    for folder in settings.workloads:
        if not folder.is_dir():
            wrong += 1
            yield fail("workloads", f"{folder} is no folder", "mend TENSOR_ASSETS_WORKLOADS")
    for path in _manifests(settings.workloads):
        try:
            check_workload(path, shapes)
        except ManifestError as error:
            wrong += 1
            yield fail("workloads", str(error), f"tensor-assets workload check {path}")
        if (earlier := names.setdefault(path.stem, path)) != path:
            wrong += 1
            yield fail("workloads", f"{path} and {earlier} have one name", "rename one of them")
    if not names:
        yield fail("workloads", "there is no manifest", "restore fixtures/workloads, or set TENSOR_ASSETS_WORKLOADS")
    elif not wrong:
        yield ok("workloads", f"{len(names)} workloads at {len(shapes)} shapes")


def check_location(module: str = "tensor_assets.definitions") -> Finding:
    """The code location loads, and its assets, checks, jobs and resources fit together."""
    import importlib

    import dagster as dg

    remedy = "dagster definitions validate -w workspace.yaml"
    try:
        loaded = importlib.import_module(module)
        found = [value for value in vars(loaded).values() if isinstance(value, dg.Definitions)]
        if len(found) != 1:
            return fail("code location", f"{module} holds {len(found)} Definitions, not one", remedy)
        dg.Definitions.validate_loadable(found[0])
        assets = len(list(found[0].resolve_all_asset_keys()))
    except Exception as error:  # whatever the definitions raise is what Dagster's loader would meet
        return fail("code location", f"{module}: {type(error).__name__}: {first_line(error)}", remedy)
    return ok("code location", f"{module}: {assets} assets")


def _manifests(folders: Sequence[Path]) -> list[Path]:
    return [path for folder in folders for path in sorted(folder.glob("*.json"))]
