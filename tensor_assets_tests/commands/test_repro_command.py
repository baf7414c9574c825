"""`tensor-assets repro`: where the script is written, and numbers that are none."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from tensor_assets.commands import repro as command
from tensor_assets.errors import StoreUnwritable
from tensor_assets.records import Outcome

CELL = "weight_view|tinygrad"


@pytest.fixture
def made(monkeypatch):
    record = SimpleNamespace(trials=0, reduced="", exit_code=0, confirmed=True)
    script = SimpleNamespace(
        name="script.py",
        text="print()",
        stored=SimpleNamespace(record=record),
        capture=SimpleNamespace(outcome=Outcome(status="ok")),
    )
    monkeypatch.setattr(command, "reproduce", lambda *_, **__: script)


def test_the_script_is_written_where_it_was_asked_for(made, tmp_path):
    done = CliRunner().invoke(command.repro, [CELL, "--target", "cpu", "--out", str(tmp_path / "bug.py")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "bug.py").read_text() == "print()"


def test_a_place_that_cannot_be_written_is_one_line(made, tmp_path):
    done = CliRunner().invoke(command.repro, [CELL, "--target", "cpu", "--out", str(tmp_path / "none" / "bug.py")])
    assert isinstance(done.exception, StoreUnwritable)
    assert "bug.py cannot be written: No such file or directory; name another with --out" in str(done.exception)


@pytest.mark.parametrize("option", ["--trials=-1", "--deadline=0"])
def test_fewer_than_no_programs_and_no_time_are_refused(made, option):
    done = CliRunner().invoke(command.repro, [CELL, "--target", "cpu", option])
    assert done.exit_code == 2
    assert option.partition("=")[0] in done.output
