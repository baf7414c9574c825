"""What all tests share: examples without a stopwatch, a lease of their own, tables of attacks and faults."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings

# A shell that starts this in the background lets it ignore Ctrl-C, and so would every process that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
# `make test` runs this, and a make that a test runs would take itself for a part of that one.
for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
    os.environ.pop(name, None)

# How long an example takes says how busy the machine is, not whether the answer is right.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

Tally = Callable[..., None]
Witness = Callable[[str, str, str], None]
_TALLIED = "tallied"
_WITNESSED = "witnessed"


@pytest.fixture(scope="session", autouse=True)
def own_lease(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Work of others on this host is not waited for, and does not wait for tests."""
    with pytest.MonkeyPatch.context() as patch:
        if "TENSOR_ASSETS_LEASE" not in os.environ:
            patch.setenv("TENSOR_ASSETS_LEASE", str(tmp_path_factory.mktemp("lease")))
        yield


@pytest.fixture
def witness(record_property: Callable[[str, object], None]) -> Witness:
    """``witness(fault, happened, lost)``: a line for the table of faults, once a test has seen all of it."""

    def tell(fault: str, happened: str, lost: str) -> None:
        record_property(_WITNESSED, [fault, happened, lost])

    return tell


@pytest.fixture
def tally(record_property: Callable[[str, object], None], request: pytest.FixtureRequest) -> Tally:
    """``tally(attack, tried, caught)``: count for the table of the test's room, fail unless all tried was caught."""

    def count(attack: str, tried: int, caught: int) -> None:
        # A property of the report travels from the processes that run tests side by side; a variable here does not.
        record_property(_TALLIED, [request.path.parent.name, attack, tried, caught])
        assert tried > 0, f"{attack}: nothing was tried"
        assert caught == tried, f"{attack}: {caught} of {tried} caught"

    return count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rooms: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for room, attack, tried, caught in _told(terminalreporter, _TALLIED):
        row = rooms[room][attack]
        row[0] += tried
        row[1] += caught
    for room, attacks in rooms.items():
        terminalreporter.section(f"attacks and faults on {room}: tried / caught")
        for attack, (tried, caught) in sorted(attacks.items()):
            terminalreporter.write_line(f"{attack:<72} {tried:>6} / {caught}")
    if faults := _told(terminalreporter, _WITNESSED):
        terminalreporter.section("faults: what was done, what happened, what was lost")
    for fault, happened, lost in faults:
        terminalreporter.write_line(f"{fault:<44} {happened:<76} {lost}")


def _told(terminalreporter: pytest.TerminalReporter, property_name: str) -> list[list]:
    reports = [report for found in terminalreporter.stats.values() for report in found]
    calls = [report for report in reports if getattr(report, "when", "") == "call"]
    return [value for report in calls for name, value in report.user_properties if name == property_name]
