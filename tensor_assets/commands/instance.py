"""The Dagster instance of a checkout: one home for `report` and `ui`, configured by the checkout's dagster.yaml."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tensor_assets.errors import StoreUnwritable
from tensor_assets.settings import Settings


def dagster_home(settings: Settings) -> Path:
    """The instance's folder, made and configured; StoreUnwritable if it cannot be. Sets ``DAGSTER_HOME`` if unset."""
    home = Path(os.environ.get("DAGSTER_HOME") or settings.root / ".dagster")
    try:
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "dagster.yaml").exists() or home == settings.root / ".dagster":
            shutil.copyfile(settings.root / "dagster.yaml", home / "dagster.yaml")
    except OSError as error:
        raise StoreUnwritable(f"cannot write Dagster's home {home}: {error.strerror}; set DAGSTER_HOME") from error
    os.environ["DAGSTER_HOME"] = str(home)
    return home
