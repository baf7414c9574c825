"""The workspace as a Dagster resource, and the run config that becomes part of a record's key."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

import dagster as dg
import msgspec
from pydantic import Field

from tensor_assets.campaign.options import Options
from tensor_assets.campaign.workspace import Workspace, resolved_target
from tensor_assets.launchers.landing import landed
from tensor_assets.settings import load_settings


class WorkspaceResource(dg.ConfigurableResource):
    """The checkout's store, workloads and compilers; where they are is set by ``TENSOR_ASSETS_*`` variables."""

    @cached_property
    def _workspace(self) -> Workspace:
        return Workspace()

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["WorkspaceResource"]:
        """Around everything a run does: where a launcher granted it a GPU, it holds that one and sees no other."""
        assert context.log is not None, "Dagster gives a run's resources its log"
        with landed(context.instance, context.run, context.log) as lease:
            self._workspace.lease = lease
            yield self

    def open(self) -> Workspace:
        return self._workspace


class ForceConfig(dg.Config):
    force: bool = Field(default=False, description="Work again even if a record of the same key exists.")


class EnvironmentConfig(ForceConfig):
    target: str = Field(
        default_factory=lambda: load_settings().target,
        description="cpu, sm_90 (compiled, never run) or cuda (the device found).",
    )


class ShapeConfig(ForceConfig):
    shape: str = Field(default="", description="Shape by name; empty: the one its suite is quoted at.")


class CellConfig(EnvironmentConfig):
    shape: str = Field(default="", description="Shape by name; empty: the one its suite is quoted at.")
    variants: list[str] = Field(default=[], description="Variants to capture; empty: default and contract breakers.")

    def options(self) -> Options:
        """As the steps want it, with the device's own name for its target."""
        return Options(
            target=resolved_target(self.target), shape=self.shape, variants=tuple(self.variants), force=self.force
        )


class SessionConfig(CellConfig):
    processes: int = Field(default=3, ge=1, le=16, description="Fresh processes per configuration.")
    seed: int = Field(default=0, ge=0, description="Order of the interleaved blocks.")

    def options(self) -> Options:
        return msgspec.structs.replace(super().options(), processes=self.processes, seed=self.seed)
