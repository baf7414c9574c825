"""One behaviour at a folder, a git branch, and two fsspec file systems (one of them a real server)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tensor_assets.errors import SettingsError
from tensor_assets.evidence.published import LISTING, verify_site
from tensor_assets.publishing.versions import PUBLICATION

OWN = ("versions/", LISTING)


def root_of(files: dict[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if not path.startswith(OWN)}


def built(site: Path) -> dict[str, bytes]:
    files = {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    return root_of(files)


def laid_out(files: dict[str, bytes], folder: Path) -> Path:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def links(page: bytes) -> list[str]:
    return re.findall(r'href="([^"]+)"', page.decode())


def test_a_dry_run_changes_nothing_and_lists_everything(desk, place):
    plan = desk.publish(place.to, dry_run=True)
    assert {change.path for change in plan.of("added")} == set(built(desk.site))
    assert plan.bytes == sum(map(len, built(desk.site).values()))
    assert (plan.of("changed"), plan.of("removed"), plan.previous) == ((), (), "")
    assert place.read() == {}


def test_what_is_published_is_the_site(desk, place, tmp_path):
    plan = desk.publish(place.to)
    found = place.read()
    assert root_of(found) == built(desk.site)
    there = laid_out(found, tmp_path / "fetched")
    assert verify_site(there).findings == ()
    assert verify_site(there / plan.version.folder).findings == ()


def test_old_versions_stay_as_they_were_and_are_linked(desk, place, tmp_path):
    desk.build(1, gone="<p>x</p>")
    first, before = desk.publish(place.to), place.read()
    desk.build(2, new="<p>y</p>")
    second = desk.publish(place.to)
    after = place.read()
    assert [change.path for change in second.of("removed")] == ["gone.html"]
    assert [change.path for change in second.of("added")] == ["new.html"]
    assert {change.path for change in second.of("changed")} == {"index.html", "evidence/seal.json"}
    assert root_of(after) == built(desk.site)
    old = {path: data for path, data in before.items() if path.startswith(first.version.folder)}
    assert old.items() <= after.items()
    assert b"edition 1" in after[f"{first.version.folder}/index.html"]
    there = laid_out(after, tmp_path / "fetched")
    for plan in (first, second):
        assert f"{plan.version.folder}/index.html" in links(after[LISTING])
        assert verify_site(there / plan.version.folder).findings == ()
        (back,) = links(after[f"{plan.version.folder}/{LISTING}"])
        assert (there / plan.version.folder / back).resolve() == (there / LISTING).resolve()
    assert all((there / link).is_file() for link in links(after[LISTING]))
    told = json.loads(after[PUBLICATION])
    assert (told["current"], len(told["versions"])) == (second.version.name, 2)


def test_publishing_again_changes_nothing(desk, place):
    desk.publish(place.to)
    before = place.read()
    assert desk.publish(place.to).nothing
    assert place.read() == before


def test_going_back_to_an_old_version_makes_no_new_one(desk, place):
    first = desk.publish(place.to)
    desk.build(2)
    desk.publish(place.to)
    desk.build(1)
    again = desk.publish(place.to)
    assert again.version == first.version
    found = place.read()
    assert root_of(found) == built(desk.site)
    assert len(json.loads(found[PUBLICATION])["versions"]) == 2


def test_what_somebody_else_put_there_stays(desk, place):
    place.write("CNAME", b"example.org")
    desk.publish(place.to)
    place.write("google123.html", b"mine")
    desk.build(2)
    plan = desk.publish(place.to)
    found = place.read()
    assert (found["CNAME"], found["google123.html"]) == (b"example.org", b"mine")
    assert plan.of("removed") == ()


def test_a_place_with_other_files_is_refused(desk, place):
    place.write("thesis.tex", b"mine")
    with pytest.raises(SettingsError, match=r"thesis[.]tex"):
        desk.publish(place.to)
    assert place.read() == {"thesis.tex": b"mine"}


def test_a_file_that_was_edited_or_lost_there_is_put_back(desk, place):
    desk.publish(place.to)
    place.write("index.html", b"<p>defaced</p>")
    plan = desk.publish(place.to)
    assert [change.path for change in plan.of("changed")] == ["index.html"]
    assert root_of(place.read()) == built(desk.site)


def test_a_list_of_versions_that_cannot_be_read_stops_everything(desk, place):
    desk.publish(place.to)
    place.write(PUBLICATION, b"{")
    before = place.read()
    desk.build(2)
    with pytest.raises(SettingsError, match=r"publication[.]json cannot be read"):
        desk.publish(place.to)
    assert place.read() == before
