"""`tensor-assets bisect CELL|CLAIM A..B`: the first published version that differs."""

from __future__ import annotations

import sys

import click

from tensor_assets.campaign.bisect import QUESTIONS, Asked, Found, Question, bisect
from tensor_assets.campaign.bisect_claim import Answer, cases_of_claim
from tensor_assets.campaign.capture import DEFAULT
from tensor_assets.campaign.options import Options
from tensor_assets.campaign.workspace import Workspace, resolved_target
from tensor_assets.commands.cell import parse_cell
from tensor_assets.commands.terminal import Terminal
from tensor_assets.errors import SettingsError
from tensor_assets.evidence.public import PublicView
from tensor_assets.progress import listening


@click.command("bisect")
@click.argument("subject", metavar="CELL|CLAIM")
@click.argument("versions", metavar="A..B")
@click.option("--by", type=click.Choice(tuple(QUESTIONS)), default="outcome", show_default=True, help="What differs.")
@click.option("--package", default="", help="Whose versions: the compiler's package (default) or a companion of it.")
@click.option("--variant", default=DEFAULT, show_default=True, help="Variant of the compiler.")
@click.option("--target", default="", help="cpu, sm_90 (compiled, never run) or cuda (the device found).")
@click.option("--shape", default="", help="A shape by name; default: the one the workload's suite is quoted at.")
@click.option("--pre", is_flag=True, help="Pre-releases count.")
@click.option("--every", is_flag=True, help="Try every version: finds a state that changes more than once.")
def bisect_command(
    subject: str,
    versions: str,
    by: str,
    package: str,
    variant: str,
    target: str,
    shape: str,
    pre: bool,
    every: bool,
) -> None:
    """Find the first version in A..B for which CELL (workload|compiler), or a CLAIM by its id, differs from A.

    Each version is tried in an environment of its own; one that cannot be had is named and passed over. Stopped, the
    same command goes on where it was. Exits with 0 if a version was found, with 1 if nothing differs or nothing can be
    told.
    """
    space = Workspace()
    low, dots, high = versions.partition("..")
    if not (dots and low and high):
        raise SettingsError(f"versions {versions!r} are not of the form A..B, as in 0.11.0..0.14.0")
    workload, compiler, question, variant, shape = _subject(space, subject, by, variant, shape)
    options = Options(target=resolved_target(target or space.settings.target), shape=shape and space.known_shape(shape))
    asked = Asked(
        workload=workload,
        compiler=compiler,
        variant=variant,
        options=options,
        package=package or space.adapter(compiler).package,
        low=low,
        high=high,
        pre=pre,
        every=every,
    )
    with Terminal() as terminal, listening(terminal):
        found = bisect(space, asked, question)
    for line in lines(asked, found):
        click.echo(line)
    sys.exit(0 if found.conclusion.first and found.conclusion.verdict != "same" else 1)


def lines(asked: Asked, found: Found) -> list[str]:
    record = found.stored.record
    told = [f"{asked.workload} | {asked.compiler} {asked.variant} on {asked.options.target}, by {record.subject}"]
    for version in record.versions:
        probe = record.probes.get(version)
        if probe is None:
            told.append(f"  {version:<16} not tried")
            continue
        said = probe.state or f"passed over, {probe.outcome.status}: {probe.outcome.reason}"
        others = ", ".join(f"{name} {pin}" for name, pin in probe.release.items() if name != asked.package)
        told.append(f"  {version:<16} {said}{f' (with {others})' if others else ''}")
    return [*told, record.sentence, *found.lines]


def _subject(space: Workspace, text: str, by: str, variant: str, shape: str) -> tuple[str, str, Question, str, str]:
    """Workload, compiler, question, variant and shape: a claim brings its own."""
    if text not in space.claims:
        if "|" not in text:
            raise SettingsError(f"{text!r} is no claim's id, and no cell of the form WORKLOAD|COMPILER")
        workload, compiler = parse_cell(space, text)
        return workload, compiler, QUESTIONS[by], variant, shape
    cases = cases_of_claim(space.claims[text])
    question, case = Answer(text, cases, PublicView(space.store)), cases[0]
    return case.workload, case.compiler, question, case.variant, shape or case.shape
