"""The image cannot be built here. What can be known without: a linter's word, and that its steps are those of make."""

from __future__ import annotations

import fnmatch
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tensor_assets.settings import ROOT
from tensor_assets.workers.adapters import discover

TEXT = (ROOT / "Dockerfile").read_text()
LINES = [line for line in re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", TEXT)).splitlines() if line.strip()]
INSTRUCTIONS = [(words[0], words[1]) for line in LINES if (words := line.split(maxsplit=1))]


def stages() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for name, value in INSTRUCTIONS:
        if name == "FROM":
            found[value.split()[-1]] = [(name, value)]
        elif found:
            found[list(found)[-1]].append((name, value))
    return found


def commands(instructions) -> list[list[str]]:
    """Every command of the RUN instructions, split at &&."""
    runs = [value for name, value in instructions if name == "RUN"]
    return [shlex.split(part) for run in runs for part in run.split("&&")]


def copied(instructions) -> list[str]:
    """Sources in the checkout of the COPY instructions."""
    copies = [value.split() for name, value in instructions if name == "COPY" and "--from=" not in value]
    return [source for words in copies for source in [w for w in words if not w.startswith("--")][:-1]]


def test_the_linter_has_nothing_to_say():
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_linter_would_have_said_something(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM debian\nRUN cd /tmp && apt-get install clang\n")
    hadolint = Path(sys.executable).with_name("hadolint")
    assert subprocess.run([hadolint, tmp_path / "Dockerfile"], capture_output=True).returncode == 1


def test_every_step_is_a_target_of_make_or_the_systems_own():
    system = {"apt-get", "rm", "useradd", "install", "mkdir"}
    made = [command for command in commands(INSTRUCTIONS) if command[0] not in system]
    assert {command[0] for command in made} == {"make"}
    assert {command[1] for command in made} == {"engines", "environment", "profilers"}
    for command in made:
        done = subprocess.run([*command, "-n"], cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout.startswith(".ci/setup ")


def test_system_packages_are_those_that_adapters_ask_for():
    wanted = {tool.debian for adapter in discover(ROOT / "adapters").values() for tool in adapter.system}
    (install,) = [c for c in commands(stages()["system"]) if c[:2] == ["apt-get", "install"]]
    assert wanted <= set(install)


def test_each_lock_has_one_stage_and_each_stage_is_in_the_image():
    adapters = discover(ROOT / "adapters")
    built: dict[str, set[str]] = {}
    for stage, instructions in stages().items():
        for command in commands(instructions):
            if command[:2] == ["make", "environment"]:
                names = command[2].removeprefix("COMPILER=").split()
                assert copied(instructions) == [f"adapters/{name}" for name in names]
                built[stage] = {adapters.pop(name).lock_sha256 for name in names}
    assert adapters == {}
    assert all(len(locks) == 1 for locks in built.values())
    assert len(set.union(*built.values())) == len(built)
    taken = {value.split("--from=")[1].split()[0] for name, value in stages()["image"] if "--from=" in value}
    assert taken == {*built, "profilers"}


@pytest.mark.parametrize("profilers", ["0", "1"])
def test_the_image_runs_as_nobody_in_particular(profilers):
    found = stages()
    assert ("ARG", "PROFILERS=0") in INSTRUCTIONS[: [name for name, _ in INSTRUCTIONS].index("FROM")]
    lineage, stage = [], "image"
    while stage in found:
        lineage = found[stage] + lineage
        stage = found[stage][0][1].split()[0].replace("${PROFILERS}", profilers)
    assert stage == "${BASE}"
    assert [value for name, value in lineage if name == "USER"][-1] == "10001"
    assert [value for name, value in lineage if name == "CMD"] == ['["tensor-assets", "doctor"]']


def test_variables_are_those_that_the_project_reads():
    sources = [*(ROOT / "tensor_assets").rglob("*.py"), *(ROOT / "adapters" / "worker").rglob("*.py")]
    read = "\n".join(path.read_text() for path in sources)
    set_ = re.findall(r"TENSOR_[A-Z_]+", " ".join(value for name, value in INSTRUCTIONS if name == "ENV"))
    assert "TENSOR_ASSETS_CACHE" in set_
    unknown = [variable for variable in set_ if variable not in read]
    assert unknown == []


def test_the_context_has_what_is_copied_and_no_more():
    patterns = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert patterns[0] == "*"
    for source in copied(INSTRUCTIONS):
        assert (ROOT / source).exists(), source
        assert f"!{source.split('/')[0]}" in patterns
    kept = {pattern[1:] for pattern in patterns if pattern.startswith("!")}
    assert kept == {source.split("/")[0] for source in copied(INSTRUCTIONS)}
    for private in (".store", ".git", ".venv", ".dagster", "tensor_assets_tests"):
        assert not any(fnmatch.fnmatch(private, pattern) for pattern in kept)


def test_the_base_has_a_version():
    base = next(value for name, value in INSTRUCTIONS if name == "ARG" and value.startswith("BASE="))
    assert re.fullmatch(r"BASE=nvidia/cuda:\d+\.\d+\.\d+-base-ubuntu\d\d\.\d\d", base)
