"""`tensor-assets verify | export | import`: the store from the command line."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from tensor_assets.campaign.fixtures import NPZ
from tensor_assets.campaign.imported import compiler_of, import_capture
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.evidence.retention import collect_garbage
from tensor_assets.evidence.selection import Filters
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import export_bundle, import_bundle
from tensor_assets.evidence.verification import verify as verify_evidence
from tensor_assets.settings import load_settings


@click.command()
@click.argument("target", default="")
def verify(target: str) -> None:
    """Re-hash a store, a bundle or a built site (default: this checkout's store) and check that it all adds up.

    Exits with 1 if anything is missing, changed or does not add up.
    """
    report = verify_evidence(target or load_settings().store)
    for finding in report.findings:
        click.echo(f"{finding.kind:<12} {finding.path}: {finding.message}")
    click.echo(report.summary())
    sys.exit(report.exit_code)


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--workload", "workloads", multiple=True, help="Only this workload; repeat for more.")
@click.option("--compiler", "compilers", multiple=True, help="Only this compiler; repeat for more.")
@click.option("--allocation", "allocations", multiple=True, help="Only records of this allocation; repeat for more.")
@click.option("--public", is_flag=True, help="Leave out what is private: logs, caches, raw profiles.")
@click.option("--compact", is_flag=True, help="Leave out fixture arrays, which are made again from their seeds.")
def export(
    path: Path,
    workloads: tuple[str, ...],
    compilers: tuple[str, ...],
    allocations: tuple[str, ...],
    public: bool,
    compact: bool,
) -> None:
    """Write records and their evidence into one file; what is left out is listed in it."""
    filters = Filters(
        workloads=workloads,
        compilers=compilers,
        allocations=allocations,
        public_only=public,
        without=(NPZ,) if compact else (),
    )
    done = export_bundle(EvidenceStore(load_settings().store), path, filters)
    click.echo(f"{done.path}: {done.records:,} records, {done.evidence:,} files, {done.bytes / 1e6:,.1f} MB")
    _tell_omissions(done.omitted)


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--device",
    "devices",
    multiple=True,
    help="Refuse records of any device but this, by its full name or UUID; repeat for more.",
)
def import_(path: Path, devices: tuple[str, ...]) -> None:
    """Check a bundle as a whole, then file all of it; importing twice changes nothing.

    A folder is a capture made elsewhere, which its compiler's adapter reads (a Luminal bundle with its e-graph).
    """
    if path.is_dir():
        return _import_folder(path, devices)
    done = import_bundle(EvidenceStore(load_settings().store), path, devices)
    click.echo(f"{path}: {done.records:,} new records, {done.evidence:,} new files, {done.known:,} known before")
    _tell_omissions(done.omitted)


def _import_folder(folder: Path, devices: tuple[str, ...]) -> None:
    record = import_capture(Workspace(), compiler_of(folder), folder, devices).record
    key = record.key
    click.echo(f"{folder}: {key.workload}|{key.compiler} ({key.variant}) on {key.target}, {len(record.stages)} stages")


def _tell_omissions(omitted: dict[str, str]) -> None:
    for reason, count in Counter(omitted.values()).most_common():
        click.echo(f"left out {count:,}: {reason}")


@click.command()
@click.option("--delete", is_flag=True, help="Remove what is listed; without it nothing is touched.")
def gc(delete: bool) -> None:
    """List what no accepted record, pin or published page refers to; remove it with --delete."""
    done = collect_garbage(EvidenceStore(load_settings().store), dry_run=not delete)
    for path in done.removed:
        click.echo(f"{'removed' if delete else 'would remove'} {path}")
    click.echo(
        f"kept {done.kept_records:,} records and {done.kept_evidence:,} files; {done.bytes / 1e6:,.1f} MB to free"
    )
