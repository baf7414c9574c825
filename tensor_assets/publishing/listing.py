"""The page that links every version at a target, and the page in each version's folder that leads there."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from tensor_assets.errors import SiteBroken
from tensor_assets.evidence.published import LISTING
from tensor_assets.publishing.versions import Publication, Version

_PLACE = re.compile(r"(<div data-versions>).*?(</div>)", re.DOTALL)
_ELSEWHERE = "../../" + LISTING
# A version is never changed again, so it cannot list those that came after it.
LEADS_THERE = (
    f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Versions</title>'
    f'<meta http-equiv="refresh" content="0; url={_ELSEWHERE}"></head>'
    f'<body><p><a href="{_ELSEWHERE}">All versions of this site</a></p></body></html>\n'
)


def listing(site: Path, publication: Publication) -> str:
    """The built site's own page of versions, filled in. Raises SiteBroken where the site has none."""
    try:
        page = (site / LISTING).read_text(encoding="utf-8")
    except OSError:
        page = ""
    if not _PLACE.search(page):
        raise SiteBroken(f"{site / LISTING} has no place for the list of versions: build the site again")
    rows = "".join(_row(version, version.name == publication.current) for version in publication.versions)
    head = "".join(f"<th>{title}</th>" for title in ("Version", "Published", "Records", "Files", "Seal"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return _PLACE.sub(lambda match: match[1] + table + match[2], page, count=1)


def _row(version: Version, current: bool) -> str:
    name, folder, seal = escape(version.name), escape(version.folder), escape(version.seal)
    mark = ' (<a href="index.html">now at the root</a>)' if current else ""
    return (
        f'<tr><td><a href="{folder}/index.html">{name}</a>{mark}</td><td>{escape(version.published)}</td>'
        f"<td>{version.records:,}</td><td>{version.files:,} ({version.bytes / 1e6:,.1f} MB)</td>"
        f'<td><a href="{folder}/evidence/seal.json"><code title="{seal}">{seal[:12]}…</code></a></td></tr>'
    )
