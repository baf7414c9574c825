"""What all tests share: examples without a stopwatch, and a table of attacks and faults, tried and caught."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is, not whether the answer is right.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

Tally = Callable[..., None]
_TALLIED = "tallied"


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
    for room, attack, tried, caught in _tallied(terminalreporter):
        row = rooms[room][attack]
        row[0] += tried
        row[1] += caught
    for room, attacks in rooms.items():
        terminalreporter.section(f"attacks and faults on {room}: tried / caught")
        for attack, (tried, caught) in sorted(attacks.items()):
            terminalreporter.write_line(f"{attack:<72} {tried:>6} / {caught}")


def _tallied(terminalreporter: pytest.TerminalReporter) -> list[list]:
    reports = [report for found in terminalreporter.stats.values() for report in found]
    calls = [report for report in reports if getattr(report, "when", "") == "call"]
    return [value for report in calls for name, value in report.user_properties if name == _TALLIED]
