"""What a cell's page offers: the reduced script that was run, else the cell as it is, else the reason for none."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tensor_assets.campaign.fixtures import fixture_record
from tensor_assets.campaign.reproducing import SCRIPT_TYPE
from tensor_assets.campaign.stored import provenance
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.evidence.public import PublicView
from tensor_assets.records import CaptureRecord, Key, Outcome, ReproRecord
from tensor_assets.report.reading import read_snapshot
from tensor_assets.report.scripts import ScriptLink, Scripts
from tensor_assets.settings import ROOT


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace()
    space.settings = msgspec.structs.replace(space.settings, store=str(tmp_path / "store"), cache=tmp_path / "cache")
    fixture_record(space, "weight_view", "matrix_inspect")
    return space


def captured(space: Workspace, compiler: str, status: str, reason: str = "") -> str:
    record = CaptureRecord(
        key=Key(workload="weight_view", shape="matrix_inspect", compiler=compiler, variant="default", target="cpu"),
        outcome=Outcome(status=status, reason=reason),
        provenance=provenance(),
    )
    return space.store.put(record)


def links(space: Workspace, folder: Path) -> dict[str, ScriptLink]:
    public = PublicView(space.store)
    snapshot = read_snapshot(public)
    scripts = Scripts(public, ROOT / "adapters", folder, folder / "cache")
    return {c.key.compiler: scripts.of(c, snapshot) for c in snapshot.configurations}


def test_each_outcome_has_its_script_or_the_reason_for_none(space: Workspace, tmp_path: Path) -> None:
    captured(space, "tinygrad", "ok")
    captured(space, "tvm", "crashed", "the worker died of SIGSEGV while answering compile")
    captured(space, "max", "unavailable", "MAX sees no GPU")
    captured(space, "luminal", "ok")
    for turn in range(3):  # the second time from what the first one kept, the third where that is cut short
        found = links(space, tmp_path / "site")
        assert "from tinygrad import" in (tmp_path / "site" / found["tinygrad"].href).read_text()
        assert "SIGSEGV" in (tmp_path / "site" / found["tvm"].href).read_text()
        assert "was not tried yet" in found["tinygrad"].about
        assert (found["max"].href, "MAX sees no GPU" in found["max"].why) == ("", True)
        assert "no standalone form" in found["luminal"].why
        if turn == 1:
            (kept,) = (tmp_path / "site" / "cache" / "repro").glob("*.json")
            kept.write_bytes(kept.read_bytes()[:99])


def test_a_script_that_was_reduced_and_run_stands_before_the_cell_as_it_is(space: Workspace, tmp_path: Path) -> None:
    capture = captured(space, "tinygrad", "rejected")
    program = read_snapshot(PublicView(space.store)).program("weight_view", "matrix_inspect")
    assert program is not None
    space.store.put(
        ReproRecord(
            key=Key(workload="weight_view", compiler="tinygrad"),
            outcome=Outcome(status="ok"),
            provenance=provenance((capture,)),
            capture=capture,
            script=space.store.put_bytes(b"print('reduced')\n", SCRIPT_TYPE, "reduced.py"),
            program=program,
            reduced="M 8 → 1",
            exit_code=1,
            confirmed=True,
        )
    )
    link = links(space, tmp_path / "site")["tinygrad"]
    assert (tmp_path / "site" / link.href).read_text() == "print('reduced')\n"
    assert link.about == "reduced (M 8 → 1), run once: exit code 1, as the cell"


def test_two_reduced_scripts_of_one_name_do_not_replace_each_other(space: Workspace, tmp_path: Path) -> None:
    """A script is named by workload, compiler and the shape it was reduced to, and so are those of two shapes."""
    program = read_snapshot(PublicView(space.store)).program("weight_view", "matrix_inspect")
    assert program is not None
    for compiler in ("tinygrad", "tvm"):
        capture = captured(space, compiler, "rejected")
        space.store.put(
            ReproRecord(
                key=Key(workload="weight_view", compiler=compiler),
                outcome=Outcome(status="ok"),
                provenance=provenance((capture,)),
                capture=capture,
                script=space.store.put_bytes(f"print('{compiler}')\n".encode(), SCRIPT_TYPE, "reduced.py"),
                program=program,
            )
        )
    found = links(space, tmp_path / "site")
    for compiler in ("tinygrad", "tvm"):
        assert (tmp_path / "site" / found[compiler].href).read_text() == f"print('{compiler}')\n"
