"""What a launched run does first, wherever it landed: says which process it is, and takes the GPU it was granted."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from dagster import DagsterInstance, DagsterRun

from tensor_assets.errors import TensorAssetsError
from tensor_assets.launchers import tags
from tensor_assets.launchers.grants import Grant, claimed, grant
from tensor_assets.launchers.launcher import H100RunLauncher
from tensor_assets.launchers.processes import ProcessNote
from tensor_assets.progress import listening


@contextmanager
def landed(instance: DagsterInstance | None, run: DagsterRun | None, log: logging.Logger) -> Iterator[str]:
    """Around the work of one run; yields the lease of its device, empty where it has none.

    A run that our launcher did not launch (in this very process, for one) is left as it is. What the work announces, a
    wait for a lease included, is written to the run's log. Raises DeviceRefused, AllocationMismatch, LeaseDamaged.
    """
    launched = run is not None and instance is not None and tags.ROUTE in run.tags
    launcher = instance.run_launcher if instance is not None and launched else None
    if run is None or instance is None or not isinstance(launcher, H100RunLauncher):
        yield ""
        return
    with ExitStack() as stack:
        stack.enter_context(listening(log.info))
        try:
            lease = _take(instance, run, launcher, stack)
        except TensorAssetsError as error:
            log.error(f"{type(error).__name__}: {error}")
            raise
        yield lease


def _take(instance: DagsterInstance, run: DagsterRun, launcher: H100RunLauncher, stack: ExitStack) -> str:
    run = instance.get_run_by_id(run.run_id) or run  # with the tags of its launch, made after it was created
    here = {tags.RUN: run.run_id, tags.PROCESS: str(ProcessNote.mine())}
    if not here.items() <= run.tags.items():
        instance.add_run_tags(run.run_id, here)
    if launcher.route(run) != tags.GPU:
        return ""
    granted = Grant.read(tags.own(run)) or grant(instance, run, launcher.policy)
    stack.enter_context(claimed(granted, run.run_id, launcher.policy))
    return granted.session
