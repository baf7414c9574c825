"""`tensor-assets claims check | show`: for those who write claims."""

from __future__ import annotations

import difflib
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import msgspec

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.claims.claim import Claim
from tensor_assets.claims.judging import CaseVerdict, Judgement, Observation, judge
from tensor_assets.claims.library import Library
from tensor_assets.claims.reading import read_claims
from tensor_assets.claims.vocabulary import require_known
from tensor_assets.errors import SettingsError
from tensor_assets.evidence.public import PublicView

_SHOWN = ("workload", "shape", "compiler", "variant", "device", "version", "records")


@click.group()
def claims() -> None:
    """Sentences bound to queries over records: check their files, show what a query matches."""


@claims.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of lines.")
@click.option("--strict", is_flag=True, help="Exit with 1 if a claim differs.")
def check(files: tuple[Path, ...], as_json: bool, strict: bool) -> None:
    """Say what is wrong in FILES (default: every claim file), or give the verdict of each claim in them."""
    space = Workspace()
    found = _claims_of(space, files)
    require_known(found, space)
    library = Library(PublicView(space.store))
    judged = [judge(claim, library) for claim in found]
    if as_json:
        click.echo(json.dumps([_plain(judgement) for judgement in judged], indent=1, ensure_ascii=False))
    else:
        _tell(judged)
    sys.exit(1 if strict and any(judgement.verdict == "differs" for judgement in judged) else 0)


@claims.command()
@click.argument("claim_id", metavar="ID")
@click.option("--document", is_flag=True, help="Also print the document that the query is asked of.")
def show(claim_id: str, document: bool) -> None:
    """Print a claim's queries, what each matched in which record, and the ids of the evidence."""
    space = Workspace()
    if claim_id not in space.claims:
        close = difflib.get_close_matches(claim_id, space.claims, n=3) or list(space.claims)[:5]
        raise SettingsError(f"claim {claim_id!r} is not defined (closest: {', '.join(close) or 'there are none'})")
    library = Library(PublicView(space.store))
    judgement = judge(space.claims[claim_id], library)
    for line in _shown(judgement):
        click.echo(line)
    if document:
        for observation in (*judgement.seen, *judgement.nearest)[:1]:
            click.echo(json.dumps(_short(library.document(observation.subject)), indent=1, ensure_ascii=False))


def _claims_of(space: Workspace, files: Iterable[Path]) -> list[Claim]:
    """Of the files, or of all; ids must be free among the project's own where a file is not one of them."""
    named = [claim for path in files for claim in read_claims(path)]
    repeated = [name for name, count in Counter(claim.id for claim in named).items() if count > 1]
    if repeated:
        raise SettingsError(f"claim id {repeated[0]!r} stands in two of these files")
    return named if tuple(files) else list(space.claims.values())


def _tell(judged: list[Judgement]) -> None:
    for judgement in judged:
        line = f"{judgement.verdict:<12}  {judgement.claim.id}"
        if judgement.verdict == "holds":
            seen = "; ".join(dict.fromkeys(o.shown for o in judgement.seen))
            line += f"  {seen[:150]}"
        else:
            line += f"  {judgement.why}" + (f"; {judgement.since}" if judgement.since else "")
        click.echo(line)
        for nearest in judgement.nearest[:1]:
            at = nearest.subject
            click.echo(f"{'':<12}  nearest: {nearest.shown} ({at.compiler} {at.version} {at.variant}, {at.device})")
    counts = Counter(judgement.verdict for judgement in judged)
    click.echo(", ".join(f"{counts[verdict]} {verdict}" for verdict in ("holds", "differs", "not measured")))


def _plain(judgement: Judgement) -> dict[str, Any]:
    return {
        "id": judgement.claim.id,
        "statement": " ".join(judgement.claim.statement.split()),
        "verdict": judgement.verdict,
        "why": judgement.why,
        "since": judgement.since,
        "seen": [_observation(o) for o in judgement.seen],
        "nearest": [_observation(o) for o in judgement.nearest],
    }


def _observation(observation: Observation) -> dict[str, Any]:
    subject = msgspec.to_builtins(observation.subject)
    return {
        **{name: subject[name] for name in _SHOWN},
        "seen": observation.shown,
        "expected": observation.expected,
        "passed": observation.passed,
        "texts": {file.stage: file.text.sha256 for file in observation.texts},
    }


def _shown(judgement: Judgement) -> list[str]:
    claim = judgement.claim
    lines = [" ".join(claim.statement.split()), f"verdict   {judgement.verdict}"]
    lines += [f"why       {judgement.why}"] if judgement.why else []
    lines += [f"since     {judgement.since}"] if judgement.since else []
    lines += [f"source    {claim.source.document}, {claim.source.section}"]
    for case in judgement.cases:
        lines += _case_lines(case)
    return lines


def _case_lines(case: CaseVerdict) -> list[str]:
    check = case.case.check
    expected = json.dumps(check.expected, ensure_ascii=False)
    lines = ["", f"{case.case.title}: {case.verdict}", f"  query     {check.query}"]
    tolerance = f" ± {check.tolerance}" if check.tolerance else ""
    lines.append(f"  expected  {check.operator.replace('_', ' ')} {expected}{tolerance}")
    told = (("seen", case.seen), ("earlier", case.earlier), ("nearest", (case.nearest,) if case.nearest else ()))
    for word, observations in told:
        for observation in observations:
            subject = observation.subject
            lines.append(f"  {word:<8}  {observation.shown}")
            lines.append(f"            {subject.compiler} {subject.version} on {subject.device}")
            lines += [f"            record {record}" for record in subject.records]
            lines += [f"            {file.stage} {file.text.sha256}" for file in observation.texts]
    return lines


def _short(value: Any) -> Any:
    """Long texts by their length alone."""
    if isinstance(value, str) and len(value) > 400:
        return f"… {len(value):,} characters"
    if isinstance(value, list):
        return [_short(item) for item in value]
    return {key: _short(item) for key, item in value.items()} if isinstance(value, dict) else value
