"""Pages in, site out: a strict MkDocs build in a folder of its own, checked, then put in place of the old one."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tensor_assets.errors import SiteBroken, StoreUnwritable
from tensor_assets.report.links import broken_links
from tensor_assets.report.said_rightly import wrong_sayings
from tensor_assets.settings import ROOT

SITE = ROOT / "site"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


def build_site(pages_dir: Path, site_dir: Path, *, source: Path = SITE) -> Path:
    """Build ``pages_dir`` into ``site_dir`` and return its index page.

    A reader of ``site_dir`` sees the old site or the new one, never a half of either. Raises SiteBroken if the strict
    build fails, an address leads nowhere or a page says what its records do not bear (``said_rightly``), and
    StoreUnwritable if the folder cannot be written; the old site then stays.
    """
    try:
        site_dir.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{site_dir.name}-", dir=site_dir.parent))
    except OSError as error:
        raise StoreUnwritable(
            f"{site_dir} cannot be written: {error.strerror}; name another with TENSOR_ASSETS_SITE"
        ) from error
    try:
        built = staging / "site"
        _mkdocs(pages_dir.resolve(), built, source)
        _require_whole(built)
        staging.chmod(0o755)
        swap(built, site_dir)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return site_dir / "index.html"


def _mkdocs(pages: Path, built: Path, source: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--config-file",
        str(source / "mkdocs.yml"),
    ]
    environment = os.environ | {"TENSOR_ASSETS_PAGES": str(pages), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [*command, "--site-dir", str(built)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise SiteBroken("the strict build failed: " + " | ".join(said[-6:]))
    (built / "404.html").unlink(missing_ok=True)  # the theme's; its addresses hold only at the root of a host


def _require_whole(built: Path) -> None:
    problems = broken_links(built) + wrong_sayings(built)
    if problems:
        more = f" (and {len(problems) - 5} more)" if len(problems) > 5 else ""
        raise SiteBroken("; ".join(problems[:5]) + more)


def swap(built: Path, site_dir: Path) -> None:
    """Put ``built`` at ``site_dir``. Where the system can exchange two names it does; else the old one steps aside."""
    if not site_dir.exists():
        built.rename(site_dir)
    elif not _exchange(built, site_dir):
        aside = built.with_name("previous")
        site_dir.rename(aside)
        built.rename(site_dir)


def _exchange(one: Path, other: Path) -> bool:
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    done: int = renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    return done == 0
