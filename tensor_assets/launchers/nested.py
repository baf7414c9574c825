"""The standard launchers inside ours: named in dagster.yaml by module, class and config, as Dagster names its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dagster import DagsterInstance, Field
from dagster._check import CheckError
from dagster._core.errors import DagsterInvalidConfigError
from dagster._core.launcher import RunLauncher
from dagster._serdes import ConfigurableClassData

from tensor_assets.errors import LauncherMisconfigured

THIS_HOST = {"module": "tensor_assets.launchers", "class": "HostRunLauncher", "config": {}}
DAGSTERS_OWN = {"module": "dagster", "class": "DefaultRunLauncher", "config": {}}

_SCHEMA = {
    "module": Field(str, description="Python module of the launcher, e.g. dagster_ray."),
    "class": Field(str, description="Its class, e.g. RayRunLauncher."),
    "config": Field(dict, is_required=False, default_value={}, description="Its own configuration."),
}


def schema(default: Mapping[str, Any]) -> Field:
    """Of a nested launcher that may be left out."""
    return Field(_SCHEMA, is_required=False, default_value=dict(default))


def nested_launcher(config: Mapping[str, Any], where: str) -> RunLauncher[Any]:
    """The launcher that ``config`` names; ``where`` it stands is what an error says. Raises LauncherMisconfigured."""
    named = ConfigurableClassData(config["module"], config["class"], json.dumps(config.get("config") or {}))
    try:
        return named.rehydrate(as_type=RunLauncher)  # type: ignore[type-abstract]
    except DagsterInvalidConfigError as error:
        problems = "; ".join(" ".join(one.message.split()) for one in error.errors)
        raise LauncherMisconfigured(f"{where}.config of {_called(config)}: {problems}") from None
    except (CheckError, ImportError) as error:
        problem = str(error.__cause__ or error.__context__ or error).splitlines()[0]
        raise LauncherMisconfigured(f"{where}: {_called(config)} is no run launcher here: {problem}") from None


def registered(launcher: RunLauncher[Any], instance: DagsterInstance) -> RunLauncher[Any]:
    """The launcher, told once which instance it works for."""
    if not launcher.has_instance:
        launcher.register_instance(instance)
    return launcher


def is_this_host(config: Mapping[str, Any]) -> bool:
    """Whether runs of this launcher land where it was called: then the device can be looked at before they start."""
    return any(_called(config) == _called(one) for one in (THIS_HOST, DAGSTERS_OWN))


def _called(config: Mapping[str, Any]) -> str:
    return f"{config['module']}.{config['class']}"
