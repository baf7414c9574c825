from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from tensor_assets.campaign.publication import publish_site
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.evidence.key import canonical
from tensor_assets.evidence.published import LISTING, seal_site
from tensor_assets.publishing.planning import Plan
from tensor_assets.settings import ROOT, Settings
from tensor_assets_tests.evidence.samples import Sample, campaign
from tensor_assets_tests.evidence.sftp import sftp_server

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
HOME = '<!doctype html><html lang="en"><title>home</title><p>edition {edition}</p></html>'
LIST = "<!doctype html><title>versions</title><nav>x</nav><div data-versions><p>none</p></div><footer>y</footer>"


class Desk(NamedTuple):
    """A store, a built site of it, and a hand that publishes it; each publication an hour after the one before."""

    space: Workspace
    sample: Sample
    times: Iterator[datetime]

    @property
    def site(self) -> Path:
        return self.space.settings.site

    def build(self, edition: int, **more: str) -> None:
        """Write the site anew: its home page tells the edition; ``more`` are pages by name."""
        site, store, id = self.site, self.space.store, self.sample.ids["benchmark tvm"]
        for path in sorted(site.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        (site / "evidence").mkdir(parents=True)
        (site / "index.html").write_text(HOME.format(edition=edition), encoding="utf-8")
        (site / LISTING).write_text(LIST, encoding="utf-8")
        (site / "assets").mkdir()
        (site / "assets" / "site.css").write_text("p { color: black }")
        for name, text in more.items():
            (site / f"{name}.html").write_text(text, encoding="utf-8")
        (site / "evidence" / f"{id}.json").write_bytes(canonical(store.get(id)))
        (site / "evidence" / f"{self.sample.stage.sha256}.txt").write_bytes(store.read(self.sample.stage))
        self.seal()

    def seal(self) -> None:
        seal_site(self.site, root="r" * 64)

    def publish(self, to: str, dry_run: bool = False) -> Plan:
        return publish_site(self.space, to, dry_run=dry_run, now=next(self.times))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    sample = campaign(tmp_path / "store")
    settings = Settings(
        root=ROOT,
        store=str(tmp_path / "store"),
        cache=tmp_path / "cache",
        workloads=(),
        adapters=tmp_path,
        site=tmp_path / "build",
    )
    hours = (NOON + timedelta(hours=hour) for hour in range(100))
    desk = Desk(Workspace(settings), sample, hours)
    desk.build(1)
    return desk


class Place(NamedTuple):
    """A target as ``--to`` names it, and what a reader finds there: path → content."""

    to: str
    read: Callable[[], dict[str, bytes]]
    write: Callable[[str, bytes], None]  # somebody else's hand


@pytest.fixture(params=["folder", "branch", "memory", "sftp"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    kind = request.param
    if kind == "folder":
        yield in_folder(str(tmp_path / "www"), tmp_path / "www")
    elif kind == "branch":
        yield on_branch(tmp_path / "site.git")
    elif kind == "memory":
        yield in_memory(tmp_path.name)
    else:
        with sftp_server(tmp_path / "served") as server:
            yield in_folder(server.url, server.folder / "store")


def in_folder(to: str, folder: Path) -> Place:
    def write(path: str, data: bytes) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)

    def read() -> dict[str, bytes]:
        files = sorted(folder.rglob("*"))
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files if path.is_file()}

    return Place(to, read, write)


def git(*arguments: str, cwd: Path, data: bytes = b"") -> bytes:
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody")
    return subprocess.run(["git", *identity, *arguments], cwd=cwd, input=data, capture_output=True, check=True).stdout


def on_branch(repository: Path) -> Place:
    subprocess.run(["git", "init", "-q", "--bare", str(repository)], check=True)

    def read() -> dict[str, bytes]:
        if not git("branch", "--list", "pages", cwd=repository):
            return {}
        names = git("ls-tree", "-r", "--name-only", "-z", "pages", cwd=repository).decode().split("\0")
        return {name: git("cat-file", "blob", f"pages:{name}", cwd=repository) for name in names if name}

    def write(path: str, data: bytes) -> None:
        blob = git("hash-object", "-w", "--stdin", cwd=repository, data=data).decode().strip()
        there = bool(read())
        if there:
            git("read-tree", "pages", cwd=repository)
        git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", cwd=repository)
        tree = git("write-tree", cwd=repository).decode().strip()
        parent = ("-p", "pages") if there else ()
        commit = git("commit-tree", tree, *parent, "-m", "by hand", cwd=repository).decode().strip()
        git("update-ref", "refs/heads/pages", commit, cwd=repository)

    return Place(f"git+{repository}#pages", read, write)


def in_memory(name: str) -> Place:
    import fsspec

    files = fsspec.filesystem("memory")
    root = f"/{name}"

    def read() -> dict[str, bytes]:
        return {path.removeprefix(f"{root}/"): files.cat_file(path) for path in files.find(root)}

    return Place(f"memory:/{root}", read, lambda path, data: files.pipe_file(f"{root}/{path}", data))
