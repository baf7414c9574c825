"""A git branch: one commit a version, pushed without force, made in a repository of its own that is thrown away."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tensor_assets.errors import SettingsError, StoreUnwritable
from tensor_assets.evidence.address import without_credentials
from tensor_assets.evidence.published import LISTING, SEAL, VERSIONS
from tensor_assets.publishing.listing import LEADS_THERE
from tensor_assets.publishing.planning import Holding, Plan
from tensor_assets.publishing.reading import encoded, read_hashes, read_publication
from tensor_assets.publishing.versions import PUBLICATION, Site

# Nobody's name leaves with a site.
_SIGNED = {f"GIT_{who}_{what}": "tensor_assets" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
_TIP = "refs/heads/tip"


class BranchTarget:
    """``repository`` is whatever git can fetch from and push to."""

    def __init__(self, repository: str, branch: str) -> None:
        self.branch, self.name = branch, without_credentials(f"git+{repository}#{branch}")
        here = Path(repository)
        self.repository = str(here.absolute()) if here.exists() else repository
        if _run(["check-ref-format", f"refs/heads/{branch}"], check=False).returncode:
            raise SettingsError(f"{branch!r} is no name of a git branch")

    def holding(self) -> Holding:
        with self._fetched() as git:
            tip = git.tip()
            files = git.sizes() if tip else {}
            ours = {PUBLICATION: git.content(PUBLICATION), SEAL: git.content(SEAL)} if tip else {}
        return Holding(
            publication=read_publication(ours.get(PUBLICATION), self.name),
            hashes=read_hashes(ours.get(SEAL)),
            files={path: n for path, n in files.items() if path != LISTING and not path.startswith(f"{VERSIONS}/")},
        )

    def put(self, site: Site, plan: Plan, listing: str) -> None:
        """All of it appears with the push, or nothing. Somebody else's push meanwhile is not overwritten."""
        with self._fetched() as git:
            parent = git.tip()
            if parent:
                git("read-tree", _TIP)
            git.forget([change.path for change in plan.of("removed")])
            blobs = git.stored([site.folder / path for path in site.hashes])
            named = dict(zip(site.hashes, blobs, strict=True))
            entries = {change.path: named[change.path] for change in plan.changes if change.kind != "removed"}
            if not plan.known:
                entries |= {f"{plan.version.folder}/{path}": blob for path, blob in named.items()}
                entries[f"{plan.version.folder}/{LISTING}"] = git.written(LEADS_THERE.encode())
            entries[LISTING] = git.written(listing.encode())
            entries[PUBLICATION] = git.written(encoded(plan.publication))
            git.enter(entries)
            commit = git.committed(parent, f"Version {plan.version.name}")
            git.push(self.repository, commit, self.branch)

    @contextmanager
    def _fetched(self) -> Iterator[_Git]:
        """The branch's newest commit alone, without its history."""
        with tempfile.TemporaryDirectory(prefix="tensor-assets-publish-") as scratch:
            git = _Git(Path(scratch), self.name)
            git("init", "-q", "--bare", ".")
            listed = git("ls-remote", "--heads", self.repository, f"refs/heads/{self.branch}")
            if listed.strip():
                git("fetch", "-q", "--depth", "1", self.repository, f"+refs/heads/{self.branch}:{_TIP}")
            yield git


class _Git:
    """Commands in one bare repository."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name

    def __call__(self, *arguments: str, stdin: bytes = b"") -> str:
        return self._bytes(*arguments, stdin=stdin).decode("utf-8", "surrogateescape")

    def tip(self) -> str:
        """The commit that was fetched; empty where the branch does not exist yet."""
        done = _run(["rev-parse", "--verify", "--quiet", _TIP], self._folder, check=False)
        return done.stdout.decode().strip()

    def sizes(self) -> dict[str, int]:
        """Path → bytes of every file of the tip."""
        found = {}
        for line in self("ls-tree", "-r", "-l", "-z", _TIP).split("\0"):
            if line:
                about, _, path = line.partition("\t")
                size = about.split()[-1]
                found[path] = int(size) if size.isdigit() else 0  # a submodule has none
        return found

    def content(self, path: str) -> bytes | None:
        done = _run(["cat-file", "blob", f"{_TIP}:{path}"], self._folder, check=False)
        return done.stdout if done.returncode == 0 else None

    def stored(self, files: list[Path]) -> list[str]:
        """The blobs of files, in their order."""
        paths = "".join(f"{file.absolute()}\n" for file in files).encode("utf-8", "surrogateescape")
        return self("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=paths).split()

    def written(self, data: bytes) -> str:
        return self("hash-object", "-w", "--stdin", stdin=data).strip()

    def forget(self, paths: list[str]) -> None:
        lines = "".join(f"0 {'0' * 40}\t{path}\n" for path in paths)
        self("update-index", "--index-info", stdin=lines.encode("utf-8", "surrogateescape"))

    def enter(self, entries: Mapping[str, str]) -> None:
        lines = "".join(f"100644 {blob}\t{path}\n" for path, blob in entries.items())
        self("update-index", "--index-info", stdin=lines.encode("utf-8", "surrogateescape"))

    def committed(self, parent: str, message: str) -> str:
        tree = self("write-tree").strip()
        return self("commit-tree", tree, *(("-p", parent) if parent else ()), "-m", message).strip()

    def push(self, repository: str, commit: str, branch: str) -> None:
        self("push", "-q", repository, f"{commit}:refs/heads/{branch}")

    def _bytes(self, *arguments: str, stdin: bytes) -> bytes:
        done = _run(list(arguments), self._folder, stdin=stdin, check=False)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit status {done.returncode}"]
            raise StoreUnwritable(
                f"{self._name}: git {arguments[0]}: {without_credentials(said[0])}; nothing was published"
            )
        return done.stdout


def _run(
    arguments: list[str], folder: Path | None = None, *, stdin: bytes = b"", check: bool
) -> subprocess.CompletedProcess[bytes]:
    """git, told nothing by the folder it is called from and asking nobody for a password."""
    told = {name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
    told |= {**_SIGNED, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    if "GIT_SSH" not in told:  # which asks at the terminal itself: a password, or whether a host is known
        told.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
    if folder is not None:
        told |= {"GIT_DIR": str(folder), "GIT_INDEX_FILE": str(folder / "publish.index")}
    try:
        return subprocess.run(["git", *arguments], input=stdin, env=told, cwd=folder, capture_output=True, check=check)
    except FileNotFoundError:
        raise StoreUnwritable("git is not installed: apt-get install git") from None
