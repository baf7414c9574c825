"""The example instances against what each engine's own launcher takes, and what it makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tensor_assets.settings import ROOT

pytestmark = pytest.mark.instance

EXAMPLES = ROOT / "tensor_assets" / "launchers" / "examples"
DATABASE = {f"DAGSTER_PG_{name}": name.lower() for name in ("HOST", "USERNAME", "PASSWORD", "DB")}
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "none",
    "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:9"}}],
    "users": [{"name": "none", "user": {}}],
    "contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}],
}


WRONG = {
    "ray": ({"ray": {"address": "http://ray-head:8265", "acelerators": 1}}, "acelerators"),
    "docker": ({"image": "tensor-assets:latest", "gpus": "all"}, "gpus"),
    "kubernetes": ({"service_account_name": "x"}, "instance_config_map"),
}


@pytest.fixture(scope="module")
def described(image, tmp_path_factory) -> dict[str, dict]:
    """What the engines' environment says of each instance (see describe.py)."""
    folder = tmp_path_factory.mktemp("instances")
    (folder / "kubeconfig").write_text(yaml.safe_dump(KUBECONFIG))
    for name, config in {**examples(folder), **broken(folder)}.items():
        (folder / name).mkdir()
        (folder / name / "dagster.yaml").write_text(yaml.safe_dump(config))
    environment = {**image.environment, **DATABASE, "PYTHONPATH": str(ROOT), "TENSOR_ASSETS_STORE": "s3://evidence"}
    folders = [str(path.parent) for path in folder.glob("*/dagster.yaml")]
    program = str(Path(__file__).with_name("describe.py"))
    told = image._replace(environment=environment).run(str(image.python), program, *folders)
    assert told.returncode == 0, told.stderr[-3000:]
    return {Path(path).name: found for path, found in json.loads(told.stdout).items()}


def examples(folder: Path) -> dict[str, dict]:
    found = {name: example(name) for name in WRONG}
    for route in ("gpu", "default"):  # outside a cluster, its own credentials are not to be had
        nested = found["kubernetes"]["run_launcher"]["config"][route]["config"]
        nested.update(load_incluster_config=False, kubeconfig_file=str(folder / "kubeconfig"))
    return found


def broken(folder: Path) -> dict[str, dict]:
    """Each example with something in its GPU launcher's config that this launcher does not take."""
    found = {f"broken-{name}": config for name, config in examples(folder).items()}
    for name, (wrong, _) in WRONG.items():
        found[f"broken-{name}"]["run_launcher"]["config"]["gpu"]["config"] = wrong
    return found


def example(name: str) -> dict:
    return yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())


def test_every_example_is_looked_at():
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == set(WRONG)


def test_ray(described):
    found = described["ray"]
    assert found["storage"] == "DagsterPostgresStorage"
    assert (found["queue"], found["gpu"], found["default"]) == ("DeviceQueue", "RayRunLauncher", "DefaultRunLauncher")
    assert found["ray"]["resources"] == {"H100": 1}
    assert "TENSOR_ASSETS_STORE" in found["ray"]["env_vars"]


def test_docker(described):
    found = described["docker"]
    assert (found["gpu"], found["default"]) == ("DockerRunLauncher", "DefaultRunLauncher")
    host = found["container"]["host_config"]
    assert host["DeviceRequests"][0]["Driver"] == "nvidia"
    assert host["DeviceRequests"][0]["Capabilities"] == [["gpu"]]
    assert "/run/lock/tensor_assets:/run/lock/tensor_assets" in host["Binds"]
    assert (found["container"]["User"], found["container"]["Hostname"]) == ("10001", "tensor-assets-gpu")
    assert found["container"]["Image"] == "tensor-assets:latest"


def test_kubernetes(described):
    found = described["kubernetes"]
    assert (found["gpu"], found["default"]) == ("K8sRunLauncher", "K8sRunLauncher")
    pod = found["jobs"]["gpu"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert pod["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    assert pod["hostname"] == "tensor-assets-gpu"
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert (mounts["evidence"], mounts["lease"]) == ("/data/store", "/run/lock/tensor_assets")
    assert {"claimName": "tensor-assets-evidence"} in [volume.get("persistentVolumeClaim") for volume in pod["volumes"]]
    other = found["jobs"]["default"]["spec"]["template"]["spec"]
    assert "nodeSelector" not in other
    assert "limits" not in other["containers"][0]["resources"]


@pytest.mark.parametrize("name", WRONG)
def test_what_an_engine_does_not_take_is_named(name, described):
    found = described[f"broken-{name}"]
    assert "gpu" not in found
    assert WRONG[name][1] in found["wrong"]
