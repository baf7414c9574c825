"""What a trial found, in the words that a build server is told to fail on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from tensor_assets.errors import SettingsError
from tensor_assets.records import CellChange, TrialRecord

Finding = Literal["wrong", "slower", "changed"]
FINDINGS: tuple[Finding, ...] = get_args(Finding)


def findings_of(trial: TrialRecord) -> dict[Finding, list[str]]:
    """Each finding with the configurations it holds for.

    ``wrong``: the candidate crashes, does not install or breaks the contract where the accepted release does not.
    ``slower``: other code, and slower beyond noise. ``changed``: other code or other numbers.
    """
    found: dict[Finding, list[str]] = {}
    for finding in FINDINGS:
        cells = [f"{cell.workload} {cell.variant}" for cell in trial.cells if _is(cell, finding)]
        if finding == "wrong" and not cells and trial.outcome.status != "ok":
            cells = [trial.outcome.reason]
        if cells:
            found[finding] = cells
    return found


def parse_findings(text: str) -> tuple[Finding, ...]:
    """From ``wrong,slower``. Raises SettingsError for a word that is no finding."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in FINDINGS:
            raise SettingsError(f"--fail-on {word!r} is no finding (have: {', '.join(FINDINGS)})")
    return tuple(finding for finding in FINDINGS if finding in words)


def require_tellable(wanted: Sequence[Finding], target: str) -> None:
    """Raises SettingsError where this target cannot show a finding that is asked for."""
    if "slower" in wanted and target.startswith("sm_"):
        raise SettingsError(f"--fail-on slower: nothing runs on {target}, so nothing is timed there")


def _is(cell: CellChange, finding: Finding) -> bool:
    match finding:
        case "wrong":
            return cell.broken
        case "slower":
            return cell.speed == "slower" and cell.code not in ("same", "text")
        case "changed":
            return cell.code == "changed" or cell.numbers in ("broken", "mended", "changed")
