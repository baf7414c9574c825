"""What changed since the last look: filed, and passed on."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.evidence.files import unwritable
from tensor_assets.evidence.public import PublicView
from tensor_assets.history.alerts import file_alerts
from tensor_assets.history.telling import tell, untold

# What a series, a change of outcome, or the acceptance of a release is read from.
_READ = ("benchmark", "capture", "environment", "decision")


def seen_so_far(space: Workspace) -> str:
    """Names the records that alerts are found in, from their files' names alone: equal, and there is nothing new."""
    ids = sorted(entry.id for kind in _READ for entry in space.store.entries(kind))
    return hashlib.sha256("".join(ids).encode()).hexdigest()


def pass_on(space: Workspace, log: Callable[[str], object]) -> list[str]:
    """File every new alert, pass on what nobody was told yet; the ids of those, oldest first.

    Raises AlertNotTold if the configured command fails: what came before it is told, it and what follows are not.
    """
    file_new(space)
    with _alone(space, "telling"):
        waiting = untold(PublicView(space.store))
        for alert_id, alert in waiting:
            tell(space.store, alert_id, alert, space.settings.alert_command, log)
    return [alert_id for alert_id, _ in waiting]


def file_new(space: Workspace) -> None:
    """File what nobody has found yet."""
    with _alone(space, "filing"):
        file_alerts(space.store, PublicView(space.store))


@contextmanager
def _alone(space: Workspace, what: str) -> Iterator[None]:
    """A report, a sensor and a cron job may look at once: the second finds what the first has filed, or told."""
    store = hashlib.sha256(space.store.url.encode()).hexdigest()[:12]
    with unwritable(f"cache {space.settings.cache}", "set TENSOR_ASSETS_CACHE to another place"):
        space.settings.cache.mkdir(parents=True, exist_ok=True)
        lock = (space.settings.cache / f"alerts-{store}-{what}.flock").open("ab")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
