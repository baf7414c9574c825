"""The run launcher of an instance that has GPUs. It starts nothing itself: standard launchers inside it do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from dagster import DagsterInstance, DagsterRun, Field, StringSource
from dagster._core.launcher import CheckRunHealthResult, LaunchRunContext, RunLauncher, WorkerStatus
from dagster._serdes import ConfigurableClass, ConfigurableClassData

from tensor_assets.launchers import tags
from tensor_assets.launchers.grants import Grant, grant
from tensor_assets.launchers.host import cancelled
from tensor_assets.launchers.nested import DAGSTERS_OWN, THIS_HOST, is_this_host, nested_launcher, registered, schema
from tensor_assets.launchers.policy import DevicePolicy
from tensor_assets.launchers.processes import ProcessNote
from tensor_assets.launchers.routing import route_of
from tensor_assets.launchers.starting import StartWatch
from tensor_assets.sessions.gpu_lease import GpuLease
from tensor_assets.sessions.inventory import INVENTORY

POOL = "gpu"

_POLICY_SCHEMA = {
    "accelerators": Field([str], is_required=False, description="Names in order of preference; whole words count."),
    "minimum_driver": Field(str, is_required=False, description="As NVML says it, e.g. 525.60.13."),
    "minimum_memory_gib": Field(float, is_required=False),
    "exclusive": Field(bool, is_required=False, description="Nobody else computes on it when it is granted."),
    "mig": Field(bool, is_required=False, description="Whether a MIG slice will do."),
}


class H100RunLauncher(RunLauncher[DagsterInstance], ConfigurableClass):
    """Gives runs with a device target to the ``gpu`` launcher and all others to the ``default`` one.

    A run goes to ``gpu`` if one of its assets is in ``pool`` and its target is a device. Where that launcher starts
    runs on this host, the device is chosen and reserved before, so that a refusal is the launch's own error; elsewhere
    the run itself does it where it lands. Everything that another process must know is a tag of the run (see tags.py).
    """

    def __init__(
        self,
        inst_data: ConfigurableClassData | None = None,
        pool: str = POOL,
        policy: DevicePolicy | None = None,
        gpu: Mapping[str, Any] = THIS_HOST,
        default: Mapping[str, Any] = DAGSTERS_OWN,
        inventory: str = "",
    ) -> None:
        self._inst_data = inst_data
        self.pool, self.policy, self.inventory = pool, policy or DevicePolicy(), inventory
        self._configured = {tags.GPU: gpu, tags.DEFAULT: default}
        if inventory:  # for whatever asks for a device in this process: every one of the instance's has this launcher
            os.environ[INVENTORY] = inventory
        super().__init__()  # type: ignore[no-untyped-call]

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        return self._inst_data

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        return {
            "pool": Field(str, is_required=False, default_value=POOL, description="Pool of the assets that use a GPU."),
            "policy": Field(_POLICY_SCHEMA, is_required=False, default_value={}),
            "gpu": schema(THIS_HOST),
            "default": schema(DAGSTERS_OWN),
            "inventory": Field(
                StringSource,
                is_required=False,
                default_value="",
                description="JSON file of simulated devices that stands for NVML; every record made under it says so.",
            ),
        }

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> H100RunLauncher:
        """Raises LauncherMisconfigured for a policy that is none."""
        values = {**config_value, "policy": DevicePolicy.from_config(config_value.get("policy") or {})}
        return cls(inst_data=inst_data, **values)

    def nested(self, route: str) -> RunLauncher[Any]:
        """The launcher behind a route. Raises LauncherMisconfigured, at the first use as in a doctor's check."""
        launcher = self._launchers.get(route)
        if launcher is None:
            launcher = self._launchers[route] = nested_launcher(self._configured[route], f"run_launcher.config.{route}")
        return registered(launcher, self._instance) if self.has_instance else launcher

    @property
    def looks_here(self) -> bool:
        """Whether GPU runs land on this host, so that their device is chosen before they start."""
        return is_this_host(self._configured[tags.GPU])

    def route(self, run: DagsterRun) -> str:
        """The route that the run was launched on, or would be."""
        return run.tags.get(tags.ROUTE) or route_of(run, self.pool)

    # What Dagster asks of a launcher

    def launch_run(self, context: LaunchRunContext) -> None:
        """Raises DeviceRefused, AllocationMismatch, LeaseDamaged, LauncherMisconfigured, with which the run fails."""
        run = context.dagster_run
        route = route_of(run, self.pool)
        launcher = self.nested(route)
        if run.tags.get(tags.ROUTE) != route:  # no queue of ours in front
            self._instance.add_run_tags(run.run_id, {tags.ROUTE: route})
        granted = grant(self._instance, run, self.policy) if route == tags.GPU and self.looks_here else None
        if granted is not None:
            self._instance.report_engine_event(f"{granted.name} ({granted.uuid}) for session {granted.session}", run)
        try:
            launcher.launch_run(context)
        except BaseException:
            if granted is not None:
                GpuLease(granted.uuid).release(run.run_id)
            raise
        if launcher.supports_check_run_worker_health:
            self._instance.add_run_tags(run.run_id, {tags.LAUNCHED: run.run_id})
        self._starting.watch()

    def terminate(self, run_id: str) -> bool:
        """Through the run's own launcher; where that knows nothing of it any more, its process is interrupted."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        if self.nested(self.route(run)).terminate(run_id):
            return True
        process = self._process(run)
        return process is not None and cancelled(self._instance, run, process)

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """What the nested launcher says, where it says anything, and whether the run's process is still there."""
        self._starting.sweep()
        launcher = self.nested(self.route(run))
        if launcher.supports_check_run_worker_health:
            told: CheckRunHealthResult = launcher.check_run_worker_health(run)
            if told.status not in (WorkerStatus.RUNNING, WorkerStatus.UNKNOWN):
                return told
        process = self._process(run)
        if process is not None and process.here and not process.alive:
            return CheckRunHealthResult(WorkerStatus.FAILED, f"the run's process {process.pid} is gone")
        return CheckRunHealthResult(WorkerStatus.RUNNING)

    def get_run_worker_debug_info(self, run: DagsterRun, include_container_logs: bool | None = True) -> str | None:
        """Which device the run had, and what its own launcher has to say."""
        granted = Grant.read(tags.own(run))
        told = self.nested(self.route(run)).get_run_worker_debug_info(run, include_container_logs)
        lines = [f"It had {granted.name} ({granted.uuid}) on {granted.host}." if granted else "", told or ""]
        return "\n".join(line for line in lines if line) or None

    @property
    def supports_resume_run(self) -> bool:
        """Never: what a run continues on might be another allocation."""
        return False

    def dispose(self) -> None:
        self._starting.stop()
        for launcher in self._launchers.values():
            launcher.dispose()

    def join(self, timeout: int = 30) -> None:
        for launcher in self._launchers.values():
            launcher.join(timeout)

    # Made when first needed: an instance is opened by many processes that launch nothing.

    @cached_property
    def _launchers(self) -> dict[str, RunLauncher[Any]]:
        return {}

    @cached_property
    def _starting(self) -> StartWatch:
        return StartWatch(self._instance, lambda run: self.nested(self.route(run)))

    def _process(self, run: DagsterRun) -> ProcessNote | None:
        return ProcessNote.read(tags.own(run).get(tags.PROCESS, ""))
