"""Where things are: the checkout, the store, the cache of environments. Every path can be set by one variable."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tensor_assets.errors import StoreUnwritable
from tensor_assets.home import home

ROOT = Path(__file__).resolve().parent.parent


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The folders this project reads and writes. ``cache`` holds what can be rebuilt; ``store`` holds evidence."""

    root: Path
    store: str  # a path or an fsspec URL
    cache: Path
    workloads: tuple[Path, ...]
    claims: tuple[Path, ...] = (ROOT / "fixtures" / "claims",)
    adapters: Path
    site: Path  # the built site
    recorded: Path = ROOT / "fixtures" / "recorded"  # bundles that every report takes in
    target: str = "cpu"
    alert_command: str = ""  # gets each alert as JSON on its standard input
    site_url: str = ""  # where readers find the site, for feeds whose readers want whole addresses
    packed: Path | None = None  # environments brought along, for a host on which nothing can be installed

    @property
    def shapes(self) -> Path:
        return self.root / "fixtures" / "shapes.json"

    @property
    def generated(self) -> Path:
        """What the site is built from: tables, charts and pages, beside it."""
        return self.site.with_name(f"{self.site.name}.generated")


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Settings from ``TENSOR_ASSETS_{STORE,CACHE,WORKLOADS,CLAIMS,ADAPTERS,SITE,RECORDED,TARGET,PACKED,
    ALERT_COMMAND,SITE_URL}``.

    Defaults lie in the checkout, and in the user's cache folder (of an id without a home: the system's temporary one).

    ``TENSOR_ASSETS_WORKLOADS`` adds folders (separated as in PATH) to ``fixtures/workloads``, and
    ``TENSOR_ASSETS_CLAIMS`` to ``fixtures/claims``.
    """
    user_cache = Path(environ.get("XDG_CACHE_HOME") or _cache_of_user())

    def added(variable: str) -> list[Path]:
        return [Path(part) for part in environ.get(variable, "").split(os.pathsep) if part]

    return Settings(
        root=ROOT,
        store=environ.get("TENSOR_ASSETS_STORE") or str(ROOT / ".store"),
        cache=Path(environ.get("TENSOR_ASSETS_CACHE") or user_cache / "tensor_assets"),
        workloads=(ROOT / "fixtures" / "workloads", *added("TENSOR_ASSETS_WORKLOADS")),
        claims=(ROOT / "fixtures" / "claims", *added("TENSOR_ASSETS_CLAIMS")),
        adapters=Path(environ.get("TENSOR_ASSETS_ADAPTERS") or ROOT / "adapters"),
        site=Path(environ.get("TENSOR_ASSETS_SITE") or ROOT / "site" / "build"),
        recorded=Path(environ.get("TENSOR_ASSETS_RECORDED") or ROOT / "fixtures" / "recorded"),
        target=environ.get("TENSOR_ASSETS_TARGET") or "cpu",
        alert_command=environ.get("TENSOR_ASSETS_ALERT_COMMAND", ""),
        site_url=environ.get("TENSOR_ASSETS_SITE_URL", "").rstrip("/"),
        packed=Path(environ["TENSOR_ASSETS_PACKED"]).resolve() if environ.get("TENSOR_ASSETS_PACKED") else None,
    )


def _cache_of_user() -> Path:
    own = home()
    return own / ".cache" if own else Path(tempfile.gettempdir()) / f"cache-{os.getuid()}"


def require_writable(settings: Settings) -> None:
    """Find out before the work, not after: raises StoreUnwritable for a cache or site folder that refuses a file."""
    places = {"TENSOR_ASSETS_CACHE": settings.cache, "TENSOR_ASSETS_SITE": settings.generated}
    for variable, folder in places.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise StoreUnwritable(f"{folder} cannot be written ({why}); name another folder in {variable}") from error
