"""Counts attacks, tried and caught, and prints the table after the tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Tally = Callable[..., None]
_ATTACKS: dict[str, list[int]] = {}


@pytest.fixture
def tally() -> Tally:
    """``tally(attack, tried, caught)``: count, and fail unless everything tried was caught."""

    def count(attack: str, tried: int, caught: int) -> None:
        row = _ATTACKS.setdefault(attack, [0, 0])
        row[0] += tried
        row[1] += caught
        assert tried > 0, f"{attack}: nothing was tried"
        assert caught == tried, f"{attack}: {caught} of {tried} caught"

    return count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _ATTACKS:
        terminalreporter.section("attacks and faults on evidence: tried / caught")
        for attack, (tried, caught) in sorted(_ATTACKS.items()):
            terminalreporter.write_line(f"{attack:<72} {tried:>6} / {caught}")
