"""The nightly schedule and the release sensor on a real instance: that compiler's runs, each requested once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from tensor_assets.campaign.capture import capture_cell
from tensor_assets.defs import releases
from tensor_assets.releases.deciding import decide_by_hand
from tensor_assets.releases.requests import Wanted, Wants
from tensor_assets_tests.releases.toy import SMALL, Checkout

pytestmark = [pytest.mark.instance, pytest.mark.compilers]
NAME = "tinygrad"  # a partition there is; its package here is the toy's


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    (tmp_path / "wheels").mkdir()
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "wheels"))
    places = {"STORE": "store", "CACHE": "cache", "ADAPTERS": "adapters", "SITE": "site/build", "LEASE": "lease"}
    for variable, place in places.items():
        monkeypatch.setenv(f"TENSOR_ASSETS_{variable}", str(tmp_path / place))
    return Checkout(tmp_path, NAME)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as instance:
        yield instance


class Location:
    """The project's definitions on an instance."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        from tensor_assets.definitions import defs
        from tensor_assets.defs.resources import WorkspaceResource

        self.instance, self.defs, self.resources = instance, defs, {"workspace": WorkspaceResource()}

    def night(self, day: int) -> list[dg.RunRequest]:
        at = datetime(2026, 12, day, 3, tzinfo=UTC)
        with dg.build_schedule_context(
            instance=self.instance,
            scheduled_execution_time=at,
            resources=self.resources,
            repository_def=self.defs.get_repository_def(),
        ) as context:
            return self.defs.resolve_schedule_def("nightly_releases").evaluate_tick(context).run_requests

    def tick(self, cursor: str | None = None):
        with dg.build_sensor_context(
            instance=self.instance, definitions=self.defs, resources=self.resources, cursor=cursor
        ) as context:
            return self.defs.resolve_sensor_def("new_releases").evaluate_tick(context)

    def run(self, request: dg.RunRequest, job: str = "") -> dg.ExecuteInProcessResult:
        return self.defs.resolve_job_def(job or request.job_name).execute_in_process(
            partition_key=request.partition_key,
            run_config=request.run_config,
            tags=request.tags,
            instance=self.instance,
            raise_on_error=False,
        )


@pytest.fixture
def location(checkout: Checkout, instance: dg.DagsterInstance) -> Location:
    return Location(instance)


def test_from_the_nights_question_to_the_accepted_cells(checkout: Checkout, location: Location):
    capture_cell(checkout.space, "weight_view", NAME, SMALL)
    (asked,) = location.night(1)
    assert (asked.partition_key, asked.run_key) == (NAME, "tinygrad 2026-12-01")
    assert [again.run_key for again in location.night(1)] == [asked.run_key]  # the same night asks nothing twice
    assert location.night(2)[0].run_key != asked.run_key
    assert "was not asked yet" in location.tick().skip_message
    assert location.run(asked, "ask_index").success
    assert location.tick().skip_message == "tinygrad: 1.0 is the newest"

    checkout.release("1.1", 'TEXT = "style = 2\\n"')
    location.run(asked, "ask_index")
    found = location.tick()
    (trial,) = found.run_requests
    assert (trial.job_name, trial.partition_key) == ("try_release", NAME)
    assert trial.tags["tensor_assets/why"] == "1.1 after 1.0"
    stale = location.tick(found.cursor)  # the run has not ended yet, or has failed
    assert not stale.run_requests
    assert "was requested and has left no record" in stale.skip_message

    done = location.run(trial)
    assert done.success
    (check,) = done.get_asset_check_evaluations()
    assert (check.check_name, check.passed) == ("held", True)
    after = location.tick(found.cursor)
    (cell,) = after.run_requests
    assert (cell.job_name, str(cell.partition_key)) == ("capture_cells", "tinygrad|weight_view")
    assert location.run(cell).success
    nothing = location.tick(after.cursor)
    assert nothing.run_requests == []
    assert nothing.skip_message == "tinygrad: 1.1 was accepted since the package index was asked"
    assert location.run(dg.RunRequest(job_name="tell_changes")).success


def test_a_held_release_fails_its_check_and_is_not_requested_again(checkout: Checkout, location: Location):
    capture_cell(checkout.space, "weight_view", NAME, SMALL)
    checkout.release("1.1", "ROUNDS = False")
    location.run(location.night(1)[0], "ask_index")
    found = location.tick()
    done = location.run(found.run_requests[0])
    assert done.success  # a release that breaks the contract is a result, not a failure of ours
    (check,) = done.get_asset_check_evaluations()
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "projection not rounded" in check.description
    said = location.tick(found.cursor)
    assert not said.run_requests
    assert "1.1 after 1.0 was tried and is held" in said.skip_message
    decide_by_hand(checkout.opened(), NAME, "1.1", "accepted", "the team knows")
    wanted = location.tick(found.cursor).run_requests
    assert {(r.job_name, str(r.partition_key)) for r in wanted} == {
        ("capture_cells", "tinygrad|weight_view"),
        ("tell_changes", "None"),
    }


def test_an_outage_is_a_record_and_a_skip(checkout: Checkout, location: Location, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(checkout.folder / "adapters"))
    assert location.run(location.night(1)[0], "ask_index").success
    assert "the package index says nothing of tensor-assets-toy" in location.tick().skip_message


def test_a_cursor_that_is_none_and_a_store_that_is_damaged(checkout: Checkout, location: Location):
    checkout.release("1.1")
    location.run(location.night(1)[0], "ask_index")
    key = location.tick().run_requests[0].run_key
    assert location.tick("{ not ours").run_requests[0].run_key == key
    assert location.tick('{"again": 1e999}').run_requests[0].run_key == key
    assert location.tick('{"again": 1}').run_requests[0].run_key == f"{key} #1"
    for record in (checkout.folder / "store" / "records" / "release").rglob("*.json"):
        record.chmod(0o644)
        record.write_bytes(b"{}")
    said = location.tick()
    assert not said.run_requests
    assert said.skip_message.startswith("the store cannot be asked: ")


def test_what_the_loaded_location_has_no_partition_for_keeps_nothing_else_from_being_requested(
    checkout: Checkout, location: Location, monkeypatch: pytest.MonkeyPatch
):
    newcomer = checkout.adapter.with_name("newcomer")
    shutil.copytree(checkout.adapter, newcomer)
    manifest = newcomer / "adapter.json"
    manifest.write_text(manifest.read_text().replace(NAME, "newcomer"))
    assert [asked.partition_key for asked in location.night(1)] == [NAME]
    unknown = [Wanted("cell", NAME, "renamed", "", "", "cell"), Wanted("trial", "newcomer", "", "", "", "trial")]
    known = Wanted("trial", NAME, "", "", "", "known")
    monkeypatch.setattr(releases, "wanted_of", lambda *_: Wants([*unknown, known], []))
    found = location.tick()
    assert [request.run_key for request in found.run_requests] == ["known"]
    said = location.tick(found.cursor).skip_message
    assert "trial has no partition: reload the code location" in said  # and is requested then
