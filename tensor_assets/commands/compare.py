"""`tensor-assets compare`: a compiler's candidate and its accepted release in one session, for those who build it."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from tensor_assets.campaign.options import Options
from tensor_assets.campaign.stored import Stored
from tensor_assets.campaign.workspace import Workspace, resolved_target
from tensor_assets.commands.request import PROCESSES
from tensor_assets.commands.terminal import Terminal
from tensor_assets.errors import SettingsError, StoreUnwritable
from tensor_assets.evidence.public import PublicView
from tensor_assets.progress import listening
from tensor_assets.records import TrialRecord
from tensor_assets.releases.accepted import release_title
from tensor_assets.releases.findings import Finding, findings_of, parse_findings, require_tellable
from tensor_assets.releases.given import given_candidate
from tensor_assets.releases.paired import FEWEST_PROCESSES
from tensor_assets.releases.running import FALLBACK
from tensor_assets.releases.trial import Trial


@click.command()
@click.argument("compiler")
@click.option("--candidate", required=True, metavar="WHEEL|PATH|VERSION", help="A wheel, a source folder, a version.")
@click.option("--workloads", default=FALLBACK, show_default=True, help="Workloads by name, separated by commas.")
@click.option("--target", default="", help="cpu, sm_90 (compiled, never run) or cuda (the device found).")
@click.option("--shape", default="", help="A shape by name; default: the one the workload's suite is quoted at.")
@click.option(
    "--processes", default=FEWEST_PROCESSES, type=PROCESSES, show_default=True, help="Timing processes of each arm."
)
@click.option("--fail-on", default="wrong", show_default=True, help="Of wrong, slower, changed; separated by commas.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings and the whole record as JSON.")
@click.option("--report", type=click.Path(path_type=Path), help="Write one HTML page that stands alone.")
@click.option("--pre", is_flag=True, help="Let companions be pre-releases.")
@click.option("--force", is_flag=True, help="Capture and time again even where nothing changed.")
def compare(
    compiler: str,
    candidate: str,
    workloads: str,
    target: str,
    shape: str,
    processes: int,
    fail_on: str,
    as_json: bool,
    report: Path | None,
    pre: bool,
    force: bool,
) -> None:
    """Run COMPILER's candidate and its accepted release in one session and say what differs.

    Exits with 0 if nothing of --fail-on was found, 1 if something was, 2 if it could not be compared (bad input, or the
    accepted release does not run here). A candidate that does not install or crashes is wrong.
    """
    space, wanted = Workspace(), parse_findings(fail_on)
    options = Options(
        target=resolved_target(target or space.settings.target),
        shape=shape and space.known_shape(shape),
        processes=processes,
        force=force,
    )
    require_tellable(wanted, options.target)
    names = [space.workload(name.strip()).workload for name in workloads.split(",") if name.strip()]
    with Terminal() as terminal, listening(terminal):
        found = given_candidate(space, space.adapter(compiler).name, candidate, pre=pre)
        trial = Trial(space, found, [(name, options.shape) for name in names], options, "compare").run()
    if report is not None:
        _write(space, trial, report)
    click.echo(_json(trial, wanted) if as_json else "\n".join(_lines(trial, wanted)))
    if trial.record.outcome.status == "blocked":
        raise SettingsError(f"nothing could be compared: {trial.record.outcome.reason}")
    sys.exit(1 if set(wanted) & findings_of(trial.record).keys() else 0)


def _lines(trial: Stored[TrialRecord], wanted: tuple[Finding, ...]) -> list[str]:
    record = trial.record
    lines = [f"{record.key.compiler} {release_title(record.candidate)} beside {release_title(record.previous)}"]
    for cell in record.cells:
        lines.append(
            f"  {cell.workload + ' ' + cell.variant:<34} code {cell.code}, numbers {cell.numbers}, speed {cell.speed}"
        )
        lines += [f"    {cell.reason}"] if cell.reason else []
    found = findings_of(record)
    for finding, where in found.items():
        lines.append(f"  {'FAIL' if finding in wanted else 'note'} {finding}: {', '.join(where)}")
    return lines if found else [*lines, "  nothing wrong, slower or changed"]


def _json(trial: Stored[TrialRecord], wanted: tuple[Finding, ...]) -> str:
    found = findings_of(trial.record)
    told = {
        "record": trial.id,
        "findings": found,
        "failed": [finding for finding in found if finding in wanted],
        "trial": trial.record,
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=2).decode()


def _write(space: Workspace, trial: Stored[TrialRecord], path: Path) -> None:
    from tensor_assets.report.comparison import comparison_page

    page = comparison_page(PublicView(space.store), trial.id, trial.record)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise StoreUnwritable(f"{path} cannot be written: {error.strerror}; name another with --report") from error
