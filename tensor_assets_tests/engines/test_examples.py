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


@pytest.fixture
def described(image, tmp_path):
    """What the engines' environment says of an instance (see describe.py)."""

    def describe(config: dict) -> dict:
        (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(config))
        program = Path(__file__).with_name("describe.py")
        environment = {**image.environment, **DATABASE, "PYTHONPATH": str(ROOT), "TENSOR_ASSETS_STORE": "s3://evidence"}
        told = image._replace(environment=environment).run(str(image.python), str(program), str(tmp_path))
        assert told.returncode == 0, told.stderr[-3000:]
        return json.loads(told.stdout)

    return describe


def example(name: str) -> dict:
    return yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())


def test_every_example_is_looked_at():
    assert sorted(path.stem for path in EXAMPLES.glob("*.yaml")) == ["docker", "kubernetes", "ray"]


def test_ray(described):
    found = described(example("ray"))
    assert found["storage"] == "DagsterPostgresStorage"
    assert (found["queue"], found["gpu"], found["default"]) == ("DeviceQueue", "RayRunLauncher", "DefaultRunLauncher")
    assert found["ray"]["resources"] == {"H100": 1}
    assert "TENSOR_ASSETS_STORE" in found["ray"]["env_vars"]


def test_docker(described):
    found = described(example("docker"))
    assert (found["gpu"], found["default"]) == ("DockerRunLauncher", "DefaultRunLauncher")
    host = found["container"]["host_config"]
    assert host["DeviceRequests"][0]["Driver"] == "nvidia"
    assert host["DeviceRequests"][0]["Capabilities"] == [["gpu"]]
    assert "/run/lock/tensor_assets:/run/lock/tensor_assets" in host["Binds"]
    assert (found["container"]["User"], found["container"]["Hostname"]) == ("10001", "tensor-assets-gpu")
    assert found["container"]["Image"] == "tensor-assets:latest"


def test_kubernetes(described, tmp_path):
    config = example("kubernetes")
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(KUBECONFIG))
    for route in ("gpu", "default"):  # outside a cluster, its own credentials are not to be had
        nested = config["run_launcher"]["config"][route]["config"]
        nested.update(load_incluster_config=False, kubeconfig_file=str(tmp_path / "kubeconfig"))
    found = described(config)
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


@pytest.mark.parametrize(
    ("name", "wrong", "word"),
    [
        ("ray", {"ray": {"address": "http://ray-head:8265", "acelerators": 1}}, "acelerators"),
        ("docker", {"image": "tensor-assets:latest", "gpus": "all"}, "gpus"),
        ("kubernetes", {"service_account_name": "x"}, "instance_config_map"),
    ],
)
def test_what_an_engine_does_not_take_is_named(name, wrong, word, described):
    config = example(name)
    config["run_launcher"]["config"]["gpu"]["config"] = wrong
    found = described(config)
    assert "gpu" not in found
    assert word in found["wrong"]
