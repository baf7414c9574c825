"""Before anything leaves: the site is whole, shows nothing private, and its records are still in the store.

What people wrote, and what was drawn from records, is read as a browser reads it and goes through every rule of
redaction. Other people's software that the site carries names its authors and holds what looks like paths: there, only
this host's and account's own words are looked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from tensor_assets.errors import EvidenceMissing, EvidencePrivate, SiteBroken
from tensor_assets.evidence.identity import Identity
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.published import LISTING, verify_site
from tensor_assets.evidence.redaction import redact
from tensor_assets.evidence.references import evidence_of
from tensor_assets.evidence.schema import decode
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.publishing.versions import Site
from tensor_assets.records import Evidence

THIRD_PARTY = ("assets/", "licences/")
# Whatever else a site would hold was put there by hand.
TEXTS = frozenset(
    {".html", ".txt", ".js", ".json", ".css", ".csv", ".svg", ".xml", ".atom", ".map", ".md", ".cff", ".py"}
)
# An address of the public web has folders, and may have an account's name in it.
_IN_ADDRESSES = {"secret", "host", "home", "address"}
BINARIES = frozenset({".png", ".parquet", ".gz", ".woff2", ".ico"})


def require_publishable(site: Site, store: EvidenceStore) -> None:
    """Raises SiteBroken for an edited or incomplete site, EvidencePrivate for anything private or of an unknown kind,
    EvidenceMissing for a record that the store no longer has. Each names the first five files."""
    broken = [f"{finding.path}: {finding.message}" for finding in verify_site(site.folder).findings if finding.failed]
    if broken:
        raise SiteBroken(f"{_some(broken)}; build the site again")
    named = _named(store)
    private = [*_of_unknown_kind(site), *_private_evidence(site, store, named), *_unclean(site, store.identity, named)]
    if private:
        raise EvidencePrivate(f"nothing was published: {_some(private)}")
    missing = [f"record {id[:12]}…" for id in site.records if not store.has_record(id)]
    if missing:
        raise EvidenceMissing(f"{_some(missing)} shown by the site and not in {store.url}; build the site again")


def _of_unknown_kind(site: Site) -> Iterator[str]:
    for path in sorted(site.hashes):
        if Path(path).suffix not in TEXTS | BINARIES and not path.startswith("licences/"):
            yield f"{path} is of no kind that a site is made of"


def _named(store: EvidenceStore) -> dict[str, Evidence]:
    """Every file that any record of the store names, by its hash."""
    records = (record for _, record in store.records(history=True))
    return {evidence.sha256: evidence for record in records for evidence in evidence_of(record)}


def _private_evidence(site: Site, store: EvidenceStore, named: Mapping[str, Evidence]) -> Iterator[str]:
    """By what the records of the store say of a file now, whatever they said when the site was built."""
    view = PublicView(store)
    for sha256 in site.evidence:
        if sha256 in named and (reason := view.why_private(named[sha256])):
            yield f"evidence/{sha256[:12]}….txt is {reason}"
    for record_id in site.records:
        data = (site.folder / "evidence" / f"{record_id}.json").read_bytes()
        if reason := view.why_withheld(decode(data)):
            yield f"evidence/{record_id[:12]}….json: {reason}"


def _unclean(site: Site, identity: Identity, named: Collection[str]) -> Iterator[str]:
    """Texts that no record answers for; those that one does are looked at above, by their own rules."""
    answered = {f"evidence/{id}.json" for id in site.records} | {f"evidence/{sha256}.txt" for sha256 in named}
    for path in sorted({*site.hashes, LISTING} - answered):
        if Path(path).suffix not in TEXTS or not (site.folder / path).is_file():
            continue
        text = (site.folder / path).read_text(encoding="utf-8", errors="surrogateescape")
        if found := _found(path, text, identity):
            yield f"{path} holds {', '.join(sorted(found))}"


def _found(path: str, text: str, identity: Identity) -> set[str]:
    if path.startswith(THIRD_PARTY):
        words = {"user": identity.users, "host": identity.hosts, "home": identity.homes, "secret": identity.secrets}
        return {kind for kind, named in words.items() if any(word in text for word in named)}
    if not path.endswith(".html"):
        return set(redact(unescape(text), identity)[1])
    page = _Page()
    page.feed(text)
    page.close()
    read, led = ("\n".join(found) for found in (page.parts, page.addresses))
    return set(redact(read, identity)[1]) | (_IN_ADDRESSES & redact(led, identity)[1].keys())


class _Page(HTMLParser):
    """What a page says: its text and inline data, and attributes that are read or travel with it; no drawing's outline
    and no address that leads through a record. Apart from it, the ``addresses`` that it leads to or loads."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name in ("title", "alt", "content", "aria-label", "value") or name.startswith("data-")):
                self.parts.append(value.partition("#/")[0] if name == "data-evidence" else value)
            elif value and name in ("href", "src", "action", "srcset", "poster"):
                (self.parts if value.startswith(("file:", "mailto:")) else self.addresses).append(value)

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def handle_comment(self, data: str) -> None:
        self.parts.append(data)


def _some(problems: list[str]) -> str:
    more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
    return "; ".join(problems[:5]) + more
