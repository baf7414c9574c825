"""The Dockerfile's own steps, run here in a folder that has what the image has at that point."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tensor_assets_tests.engines.conftest import copy

pytestmark = pytest.mark.instance


def test_the_engines_are_installed_as_their_lock_says(image):
    done = image.run(
        str(image.python), "-c", "import dagster_ray, dagster_k8s, dagster_docker, ray, pynvml; print(ray.__version__)"
    )
    assert (done.returncode, done.stdout) == (0, "2.60.0\n"), done.stderr
    assert image.run("make", "engines").stderr == ""  # nothing is left to do


def test_a_compilers_stage_needs_no_more_than_its_folder(image, tmp_path):
    copy("adapters/luminal", to=image.folder)
    cache = {**image.environment, "TENSOR_ASSETS_CACHE": str(tmp_path)}
    (tmp_path / "environments").mkdir()
    done = image._replace(environment=cache).run("make", "environment", "COMPILER=luminal")
    assert done.returncode == 0, done.stderr
    (root,) = [path.parent for path in tmp_path.glob("environments/*/.complete")]
    assert f"luminal: {root}" in done.stdout


def test_the_whole_image_is_sound(image, tmp_path):
    """As the last stage has it, where ``docker run`` starts: doctor, on a host without a GPU."""
    copy("adapters", "fixtures", "site", to=image.folder)
    variables = {
        "TENSOR_ASSETS_STORE": str(tmp_path / "store"),
        "TENSOR_ASSETS_SITE": str(tmp_path / "site"),
        "TENSOR_ASSETS_LEASE": str(tmp_path / "lease"),
        "DAGSTER_HOME": str(tmp_path / "dagster"),
        "TENSOR_ASSETS_TARGET": "cpu",
    }
    told = image._replace(environment={**image.environment, **variables}).run(
        str(Path(image.python).with_name("tensor-assets")), "doctor", "--json"
    )
    findings = json.loads(told.stdout)["findings"]
    of = {finding["subject"]: finding for finding in findings}
    assert [finding for finding in findings if finding["state"] == "fail"] == []
    assert of["packages"]["message"].endswith("as engines.lock says")
    assert of["workloads"]["message"].startswith("20 workloads")
    assert of["code location"]["state"] == of["instance"]["state"] == "ok"
