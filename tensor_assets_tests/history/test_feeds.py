"""Feeds that readers accept: required members, ids that stay, addresses that need no host."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import feedparser
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_assets.report.feeds import LONGEST, Entry, atom, json_feed, name_of

SITE = "https://compilers.example/site"
ATOM = "{http://www.w3.org/2005/Atom}"
# The members that version 1.1 of the format defines and this feed uses, with what it asks of them.
JSON_FEED = {
    "type": "object",
    "required": ["version", "title", "items"],
    "properties": {
        "version": {"const": "https://jsonfeed.org/version/1.1"},
        "title": {"type": "string", "minLength": 1},
        "home_page_url": {"type": "string", "pattern": "^https?://"},
        "feed_url": {"type": "string", "pattern": "^https?://"},
        "authors": {"type": "array", "items": {"type": "object", "minProperties": 1}},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "content_html"],
                "properties": {
                    "id": {"type": "string", "minLength": 1},
                    "url": {"type": "string", "pattern": "^https?://"},
                    "date_published": {
                        "type": "string",
                        "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$",
                    },
                },
            },
        },
    },
}


def entry(number: int, title: str = "ok became <rejected> & slower") -> Entry:
    return Entry(
        record=f"{number:064x}",
        title=title,
        when=f"2026-12-{1 + number % 28:02d}T03:00:00.000+00:00",
        page=f"history.html#alert-{number}",
        html=f"<p>{number} &amp; more</p>",
    )


@pytest.mark.parametrize("site_url", ["", SITE])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_an_atom_reader_accepts_it(site_url: str, count: int) -> None:
    parsed = feedparser.parse(atom([entry(number) for number in range(count)], site_url))
    assert not parsed.bozo
    assert parsed.version == "atom10"
    assert {"id", "title", "updated", "author"} <= parsed.feed.keys()
    assert [found.id for found in parsed.entries] == [name_of(f"{number:064x}") for number in reversed(range(count))]
    for found in parsed.entries:
        assert found.updated_parsed.tm_year == 2026
        assert found.title == "ok became <rejected> & slower"
        assert found.link == (f"{SITE}/" if site_url else "") + f"history.html#alert-{int(found.content[0].value[3])}"


def test_an_id_is_a_whole_uri_and_every_other_address_relative_without_a_site() -> None:
    root = ElementTree.fromstring(atom([entry(1)]))
    assert [element.text.partition(":")[0] for element in root.iter(f"{ATOM}id")] == ["tag", "tag"]
    assert [link.get("href") for link in root.iter(f"{ATOM}link")] == [
        "feed.atom",
        "history.html",
        "history.html#alert-1",
    ]


@pytest.mark.parametrize("site_url", ["", SITE])
def test_a_json_feed_has_what_its_format_asks(site_url: str) -> None:
    feed = json.loads(json_feed([entry(1), entry(2)], site_url))
    jsonschema.validate(feed, JSON_FEED)
    assert [item["id"] for item in feed["items"]] == [name_of(f"{2:064x}"), name_of(f"{1:064x}")]
    assert ("url" in feed["items"][0]) == bool(site_url)


def test_an_entrys_id_stays_when_the_site_moves_and_the_feed_grows() -> None:
    before = feedparser.parse(atom([entry(1)]))
    after = feedparser.parse(atom([entry(1), entry(2)], SITE))
    assert before.entries[0].id in [found.id for found in after.entries]


def test_the_oldest_leave_a_long_feed() -> None:
    entries = [entry(number) for number in range(LONGEST + 5)]
    assert len(feedparser.parse(atom(entries)).entries) == LONGEST


@given(title=st.text(max_size=40))
def test_no_title_breaks_the_feed(title: str) -> None:
    feed = atom([entry(1, title)])
    ElementTree.fromstring(feed)
    jsonschema.validate(json.loads(json_feed([entry(1, title)])), JSON_FEED)
