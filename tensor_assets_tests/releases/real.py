"""Two real updates without a GPU, from a release that appears on an index to the page that tells of it.

TVM 0.27.0.post1 with apache-tvm-ffi 0.1.14.post1: the companion's 0.1.15.post2 ends it with a segmentation fault in
CUDA's tensorize, so that it must be held. tinygrad 0.13.0: 0.14.0 appears. Both on an index that is a folder made from
what ``pip download`` fetched, as an air-gapped site keeps one.

    python -m tensor_assets_tests.releases.real FOLDER     # the store, the site and what was printed stay in FOLDER
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import uv

from tensor_assets.campaign import publish
from tensor_assets.campaign.capture import capture_cell
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.releases.accepted import accepted_release, release_title
from tensor_assets.releases.candidates import at_version
from tensor_assets.releases.news import release_news
from tensor_assets.releases.running import Tried, try_release
from tensor_assets.settings import ROOT, load_settings
from tensor_assets_tests.releases.indexes import folder_index

SHAPE = "matrix_inspect"


class Index:
    """A folder that is a package index, and what is published in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.wheels = folder, folder / "files"
        self.published: dict[str, list[Path]] = {}

    def publish(self, package: str, version: str) -> None:
        """Fetch the wheel for this interpreter with pip, and list it."""
        pip = [uv.find_uv_bin(), "tool", "run", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
        python = ".".join(map(str, sys.version_info[:2]))
        wanted = ["--python-version", python, "--dest", str(self.wheels), f"{package}=={version}"]
        before = set(self.wheels.glob("*.whl"))
        subprocess.run([*pip, *wanted], check=True, env=_without_index(os.environ))
        self.published.setdefault(package, []).extend(sorted(set(self.wheels.glob("*.whl")) - before))
        folder_index(self.folder / "simple", self.published)

    @contextmanager
    def configured(self) -> Iterator[None]:
        """uv asks this index first, and its usual one for what is not here."""
        before = os.environ.get("UV_INDEX")
        os.environ["UV_INDEX"] = (self.folder / "simple").as_uri()
        try:
            yield
        finally:
            os.environ.pop("UV_INDEX")
            os.environ |= {"UV_INDEX": before} if before else {}


def at_older_tinygrad(folder: Path) -> Workspace:
    """A checkout whose tinygrad is at 0.13.0, as its authors had it then."""
    space = _checkout(folder)
    found = at_version(space, "tinygrad", "0.13.0")
    adapter = space.settings.adapters / "tinygrad"
    shutil.copyfile(found.lock, adapter / "requirements.lock")
    wanted = adapter / "requirements.in"
    wanted.write_text(wanted.read_text().replace("tinygrad==0.14.0", "tinygrad==0.13.0"))
    return _checkout(folder)


def segfault_of_tvm(folder: Path) -> tuple[Workspace, Tried]:
    """A companion that crashes the compiler appears; the update is tried on ``sm_90``."""
    space, index = _checkout(folder), Index(folder / "index-tvm")
    index.publish("apache-tvm-ffi", "0.1.14.post1")
    options = Options(target="sm_90", shape=SHAPE)
    with index.configured():
        before = release_news(space, "tvm").record
        assert "apache-tvm-ffi" not in before.candidate or before.candidate["apache-tvm-ffi"] == "0.1.14.post1", before
        capture_cell(space, "weight_view", "tvm", options)
        index.publish("apache-tvm-ffi", "0.1.15.post2")
        after = release_news(space, "tvm").record
        assert after.candidate.get("apache-tvm-ffi") == "0.1.15.post2", after
        done = try_release(space, "tvm", options, ("weight_view",))
    assert isinstance(done, Tried), done
    return space, done


def update_of_tinygrad(folder: Path) -> tuple[Workspace, Tried]:
    """tinygrad 0.13.0 is accepted, 0.14.0 appears; tried compiled for ``sm_90``, then run and timed on the CPU."""
    index = Index(folder / "index-tinygrad")
    index.publish("tinygrad", "0.13.0")
    with index.configured():
        space = at_older_tinygrad(folder)
        targets = [Options(target=target, shape=SHAPE, processes=4) for target in ("sm_90", "cpu")]
        for options in targets:
            for workload in ("gemm", "weight_view"):
                capture_cell(space, workload, "tinygrad", options)
        assert release_news(space, "tinygrad").record.candidate == {}
        index.publish("tinygrad", "0.14.0")
        assert release_news(space, "tinygrad").record.candidate == {"tinygrad": "0.14.0"}
        tried = [try_release(space, "tinygrad", options, decides=options is targets[-1]) for options in targets]
    assert isinstance(tried[-1], Tried), tried[-1]
    return space, tried[-1]


def _checkout(folder: Path) -> Workspace:
    """The project's adapters in a folder of their own, with a store beside them; environments are shared."""
    adapters = folder / "adapters"
    if not adapters.exists():
        for source in sorted((ROOT / "adapters").glob("*/adapter.json")):
            shutil.copytree(source.parent, adapters / source.parent.name, ignore=shutil.ignore_patterns("__pycache__"))
    settings = load_settings()
    return Workspace(
        msgspec.structs.replace(
            settings, store=str(folder / "store"), adapters=adapters, site=folder / "site" / "build", recorded=folder
        )
    )


def _without_index(environ: Mapping[str, str]) -> dict[str, str]:
    """pip fetches from its usual index, not from the folder that is being made."""
    return {name: value for name, value in environ.items() if name != "UV_INDEX"}


def tell(done: Tried) -> None:
    record, decision = done.trial.record, done.decision
    word = decision.record.decision if decision else "not decided"
    print(f"{record.key.compiler} {release_title(record.candidate)} after {release_title(record.previous)}: {word}")
    for cell in record.cells:
        verdict = f"code {cell.code}, numbers {cell.numbers}, speed {cell.speed} {cell.reason}"
        print(f"  {cell.workload} {cell.variant}: {verdict}")
        print("   ", ", ".join(f"{s.stage} -{s.removed} +{s.added}" for s in cell.stages if s.difference))
        for speed in cell.speeds:
            print(f"    {speed.clock} {speed.old_ns} -> {speed.new_ns} ns, {speed.verdict}, {speed.comparison}")
    for changes in done.changes:
        print(f"  {'ALERT ' if changes.record.alert else ''}{changes.record.headline}")


CASES = {"tvm": segfault_of_tvm, "tinygrad": update_of_tinygrad}


def main() -> None:
    """``FOLDER [tvm|tinygrad …]``: the cases, and the site of what the folder's store then holds."""
    folder, names = Path(sys.argv[1]).resolve(), sys.argv[2:] or list(CASES)
    for name in names:
        space, done = CASES[name](folder)
        tell(done)
        print(f"  accepted now: {release_title(accepted_release(space.adapter(name)))}", flush=True)
    space = _checkout(folder)
    publish.pages(space)
    publish.site(space)
    print(space.settings.site / "changes.html")


if __name__ == "__main__":
    main()
