"""What changed, as an Atom feed (RFC 4287) and a JSON feed (version 1.1), from alerts and release changes.

An entry's id is its record's, as a tag URI (RFC 4151): the same wherever the site lies. Addresses are
relative, so that a feed read from a disk or a sub-path leads into the site beside it; with a site address (settings)
they are whole, as some readers want.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import msgspec

ATOM_FILE, JSON_FILE = "feed.atom", "feed.json"
LONGEST = 200  # entries; a reader that comes back after longer than that has the page
TITLE = "tensor_assets: what changed"
_ATOM = "http://www.w3.org/2005/Atom"
_TAG = "tag:tensor-assets,2026"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that changed. ``page`` is the site's path that tells of it, with its place."""

    record: str  # id
    title: str
    when: str  # UTC, ISO 8601
    page: str
    html: str


def atom(entries: Sequence[Entry], site_url: str = "", made: str = "") -> bytes:
    """``made``: when the newest record was made, for a feed that has no entry."""
    feed = ElementTree.Element("feed", {"xmlns": _ATOM})
    shown = _newest(entries)
    _text(feed, "id", f"{_TAG}:changes" if not site_url else f"{site_url}/{ATOM_FILE}")
    _text(feed, "title", TITLE)
    _text(feed, "updated", shown[0].when if shown else made or "1970-01-01T00:00:00+00:00")
    ElementTree.SubElement(feed, "link", {"rel": "self", "href": _address(site_url, ATOM_FILE)})
    ElementTree.SubElement(feed, "link", {"rel": "alternate", "href": _address(site_url, "history.html")})
    _text(ElementTree.SubElement(feed, "author"), "name", "tensor_assets")
    for entry in shown:
        element = ElementTree.SubElement(feed, "entry")
        _text(element, "id", name_of(entry.record))
        _text(element, "title", entry.title)
        _text(element, "updated", entry.when)
        ElementTree.SubElement(element, "link", {"rel": "alternate", "href": _address(site_url, entry.page)})
        _text(element, "content", entry.html).set("type", "html")
    ElementTree.indent(feed)
    return bytes(ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)) + b"\n"


def json_feed(entries: Sequence[Entry], site_url: str = "") -> bytes:
    """Addresses are members of their own only where they are whole, as the format asks."""
    feed: dict[str, Any] = {"version": "https://jsonfeed.org/version/1.1", "title": TITLE}
    if site_url:
        feed |= {"home_page_url": f"{site_url}/history.html", "feed_url": f"{site_url}/{JSON_FILE}"}
    feed["authors"] = [{"name": "tensor_assets"}]
    feed["items"] = [_item(entry, site_url) for entry in _newest(entries)]
    return (json.dumps(feed, ensure_ascii=False, indent=1) + "\n").encode()


def name_of(record_id: str) -> str:
    """A record's id as a URI: a reader that resolves addresses leaves it as it is."""
    return f"{_TAG}:{record_id}"


def _item(entry: Entry, site_url: str) -> dict[str, Any]:
    link = f'<p><a href="{_address(site_url, entry.page)}">On the site</a></p>'
    item = {"id": name_of(entry.record), "title": entry.title, "content_html": entry.html + link}
    item["date_published"] = entry.when
    return item | ({"url": _address(site_url, entry.page)} if site_url else {})


def _newest(entries: Sequence[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: (entry.when, entry.record), reverse=True)[:LONGEST]


def _address(site_url: str, path: str) -> str:
    return f"{site_url}/{path}" if site_url else path


def _text(parent: ElementTree.Element, name: str, text: str) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, name)
    element.text = "".join(char for char in text if char.isprintable())
    return element
