"""Run in the engines' environment: make everything that each dagster.yaml names, and say as JSON what came of it.

Nothing is connected to: databases and clusters are made as objects only.
"""

from __future__ import annotations

import json
import sys
import tempfile
from typing import Any

import yaml
from dagster._config import process_config, resolve_to_config_type
from dagster._core.instance.ref import InstanceRef
from dagster._core.launcher import RunLauncher
from dagster._core.storage.dagster_run import DagsterRun
from dagster._core.utils import make_new_run_id
from dagster._serdes import class_from_code_pointer

from tensor_assets.errors import LauncherMisconfigured
from tensor_assets.launchers import H100RunLauncher


def described(folder: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        ref = InstanceRef.from_dir(scratch, config_dir=folder)
    launcher, storage = ref.run_launcher, ref.storage_data
    assert isinstance(launcher, H100RunLauncher)
    config = yaml.safe_load(storage.config_yaml)
    database = class_from_code_pointer(storage.module_name, storage.class_name)
    checked = process_config(resolve_to_config_type(database.config_type()), config)
    found: dict[str, Any] = {"queue": type(ref.run_coordinator).__name__}
    found["storage"] = database.__name__ if checked.success else str(checked.errors)
    try:
        nested = {route: launcher.nested(route) for route in ("gpu", "default")}
    except LauncherMisconfigured as error:
        return {**found, "wrong": str(error)}
    found |= {route: type(made).__name__ for route, made in nested.items()}
    makers = {"RayRunLauncher": ray, "DockerRunLauncher": docker_container, "K8sRunLauncher": kubernetes_jobs}
    return found | makers[found["gpu"]](nested)


def ray(nested: dict[str, RunLauncher]) -> dict[str, Any]:
    gpu: Any = nested["gpu"]
    return {"ray": {"resources": gpu.resources, "env_vars": gpu.env_vars, "address": gpu.address}}


def docker_container(nested: dict[str, RunLauncher]) -> dict[str, Any]:
    """The request that the Docker client would send."""
    from docker.models.containers import _create_container_args

    gpu: Any = nested["gpu"]
    arguments = {**gpu.container_kwargs, "image": gpu.image, "command": "x", "detach": True, "version": "1.43"}
    made = _create_container_args(arguments)
    from docker.types import ContainerConfig

    whole = ContainerConfig("1.43", **{key: value for key, value in made.items() if key not in _NOT_CONFIG})
    return {"container": {**whole, "host_config": made["host_config"]}}


_NOT_CONFIG = ("host_config", "name", "platform")


def kubernetes_jobs(nested: dict[str, RunLauncher]) -> dict[str, Any]:
    """The job of a run on each route, as the API server would get it."""
    from dagster_k8s.job import construct_dagster_k8s_job
    from kubernetes.client import ApiClient

    jobs = {}
    for route, launcher in nested.items():
        made: Any = launcher
        run = DagsterRun(job_name="x", run_id=make_new_run_id())
        context = made.get_container_context_for_run(run)
        job = construct_dagster_k8s_job(
            job_config=context.get_k8s_job_config("tensor-assets:latest", made),
            args=["dagster", "api", "execute_run"],
            job_name="x",
            user_defined_k8s_config=context.run_k8s_config,
            pod_name="x",
            component="run_worker",
        )
        jobs[route] = ApiClient().sanitize_for_serialization(job)
    return {"jobs": jobs}


if __name__ == "__main__":
    print(json.dumps({folder: described(folder) for folder in sys.argv[1:]}))
