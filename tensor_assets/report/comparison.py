"""One trial as one page that stands alone: for a build server to keep beside its log."""

from __future__ import annotations

import jinja2
from markupsafe import Markup

from tensor_assets.evidence.public import PublicView
from tensor_assets.records import Evidence, TrialRecord
from tensor_assets.releases.findings import findings_of
from tensor_assets.report.quantities import count
from tensor_assets.report.trials import trial_view
from tensor_assets.settings import ROOT


def comparison_page(store: PublicView, record_id: str, trial: TrialRecord) -> str:
    """HTML without any other file; what is private is named and not shown."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROOT / "site" / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(count=count)
    template = environment.get_template("comparison.html")
    shown = trial_view(trial, lambda evidence: shown_text(store, evidence))
    return template.render(**shown, findings=findings_of(trial), proof=_short, record=record_id)


def shown_text(store: PublicView, evidence: Evidence) -> str:
    why = store.why_private(evidence)
    return f"not shown: {why}" if why else store.read(evidence).decode(errors="replace")


def _short(sha256: str) -> Markup:
    return Markup("<code>{}</code>").format(sha256[:7])
