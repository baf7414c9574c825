"""What must not leave, does not; what is published is kept; each target's own faults change nothing there."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tensor_assets.campaign import publication
from tensor_assets.campaign.workspace import Workspace
from tensor_assets.commands import publish as command
from tensor_assets.errors import EvidenceMissing, EvidencePrivate, SettingsError, SiteBroken, StoreUnwritable
from tensor_assets.evidence.identity import Identity
from tensor_assets.evidence.retention import collect_garbage, pins
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.verification import verify_store
from tensor_assets.publishing import bucket, folder
from tensor_assets.publishing.targets import open_target
from tensor_assets.records import CaptureRecord, Key, Outcome
from tensor_assets_tests.evidence.samples import provenance
from tensor_assets_tests.publishing.conftest import in_folder, on_branch

TOKEN = "ghp_" + "a1B2" * 9

PRIVATE = {
    "a token in a page": ("page.html", f"<p>key {TOKEN}</p>", "secret"),
    "an address that looks like mail, in a comment": ("page.html", "<!-- ask jane.doe@example.com -->", "email"),
    "a home folder in a title": ("page.html", '<p title="/home/jane/src/x.py">x</p>', "path"),
    "a link into somebody's disk": ("page.html", '<a href="file:///home/jane/x.html">x</a>', "path"),
    "a link to a machine of one's own": ("page.html", '<a href="http://gpu-node-77:3000/runs">run</a>', "host"),
    "a picture that is fetched with a token": ("page.html", f'<img src="https://x.org/a?t={TOKEN}">', "secret"),
    "somebody's mail, as a link": ("page.html", '<a href="mailto:jane.doe@example.com">write</a>', "email"),
    "a home folder in explorer data": ("data.js", 'window.x = {"source": "/home/jane/x.py"}', "path"),
    "a home folder in explorer data, byte by byte": ("data.js", f"window.x = {list(b'/home/jane/x.py')}", "path"),
    "a token in a script that reproduces a cell": ("gemm.py", f'KEY = "{TOKEN}"', "secret"),
    "an address in a table": ("table.csv", "host,ns\n10.11.12.13,5\n", "address"),
    "a host's name in third-party code": ("assets/x.js", "var host = 'gpu-node-77'", "host"),
    "a kind of file that no site is made of": ("dump.sqlite", "x", "no kind"),
}


@pytest.mark.parametrize("name", PRIVATE)
def test_nothing_private_leaves(name, desk, tmp_path, tally):
    path, text, word = PRIVATE[name]
    desk.space.store.identity = Identity(hosts=("gpu-node-77",))
    (desk.site / path).write_text(text)
    desk.seal()
    caught = 0
    for dry_run in (True, False):
        with pytest.raises(EvidencePrivate) as refusal:
            desk.publish(str(tmp_path / "www"), dry_run=dry_run)
        caught += path in str(refusal.value) and word in str(refusal.value)
    tally(f"published: {name}", 2, caught)
    assert not (tmp_path / "www").exists()
    assert pins(desk.space.store) == {}


def test_an_edited_site_is_refused(desk, tmp_path):
    (desk.site / "index.html").write_text("<p>edited</p>")
    with pytest.raises(SiteBroken, match=r"index[.]html: edited since"):
        desk.publish(str(tmp_path / "www"))


def test_what_became_private_after_the_build_is_refused(desk, tmp_path):
    """Another record says now that the same bytes are private: private wins."""
    store = desk.space.store
    private = store.put_bytes(store.read(desk.sample.stage), "text/plain", "the same", private=True)
    assert private.sha256 == desk.sample.stage.sha256
    store.put(
        CaptureRecord(
            key=Key(workload="w"),
            outcome=Outcome(status="crashed", reason="x", log=private),
            provenance=provenance(),
        )
    )
    with pytest.raises(EvidencePrivate, match="is private"):
        desk.publish(str(tmp_path / "www"))


def test_a_site_of_another_store_is_refused(desk, tmp_path):
    other = Workspace(desk.space.settings)
    other.__dict__["store"] = EvidenceStore(tmp_path / "other")
    with pytest.raises(EvidenceMissing):
        publication.publish_site(other, str(tmp_path / "www"))


def test_without_a_built_site_there_is_nothing_to_publish(desk, tmp_path):
    (desk.site / "evidence" / "seal.json").unlink()
    with pytest.raises(SiteBroken, match="tensor-assets report"):
        desk.publish(str(tmp_path / "www"))


def test_a_collection_never_takes_what_is_published(desk, tmp_path):
    """Not even when a later record of the same key has taken its place."""
    store, id = desk.space.store, desk.sample.ids["benchmark tvm"]
    plan = desk.publish(str(tmp_path / "www"))
    assert list(pins(store)) == [f"published-{plan.version.name}"]
    old = store.get(id)
    store.put(msgspec.structs.replace(old, outcome=Outcome(status="crashed", reason="later")))
    long_ago = time.time() - 90 * 24 * 3600
    for path in Path(store.url).rglob("*"):
        if path.is_file():
            os.utime(path, (long_ago, long_ago))
    collect_garbage(store, dry_run=False)
    assert store.get(id) == old
    assert verify_store(store).sound


SECRET = "hunter2-of-jane"


@pytest.mark.parametrize(
    "to",
    [
        f"git+http://jane:{SECRET}@127.0.0.1:9/site.git#pages",
        f"git+http://{SECRET}@127.0.0.1:9/site.git#pages",
        f"git+http://{SECRET}@127.0.0.1:9/site.git",
        f"sftp://jane:{SECRET}@127.0.0.1:9/site",
        f"nosuch://jane:{SECRET}@127.0.0.1:9/site",
    ],
)
def test_an_error_names_a_place_without_its_password(desk, to):
    with pytest.raises((SettingsError, StoreUnwritable)) as refusal:
        desk.publish(to)
    assert SECRET not in str(refusal.value)


def test_a_plan_names_a_place_without_its_password(desk):
    plan = desk.publish(f"memory://jane:{SECRET}@bucket/site", dry_run=True)
    assert plan.target == "memory://…@bucket/site"


BAD = {"": "names no place", "git+repository": "#BRANCH", "git+x#no..name": "no name", "nosuch://x": "nosuch"}


@pytest.mark.parametrize("to", BAD)
def test_a_place_that_is_none(to):
    with pytest.raises(SettingsError, match=BAD[to]):
        open_target(to)


def test_a_file_in_the_folders_place(desk, tmp_path):
    (tmp_path / "www").write_text("x")
    with pytest.raises(SettingsError, match="is no folder"):
        desk.publish(str(tmp_path / "www"))


def test_a_checkout_stays_one_and_a_link_to_the_place_a_link(desk, tmp_path):
    """Empty folders and links to folders are somebody else's too; so is the mode of the folder."""
    real, www = tmp_path / "disk" / "site", tmp_path / "www"
    (real / ".git" / "refs" / "heads").mkdir(parents=True)
    (tmp_path / "photos").mkdir()
    (real / ".well-known").symlink_to(tmp_path / "photos")
    (real / "robots.txt").symlink_to("nowhere")
    real.chmod(0o2775)
    www.symlink_to(real)
    for edition in (1, 2):
        desk.build(edition)
        desk.publish(str(www))
    assert www.readlink() == real
    assert (real / ".git" / "refs" / "heads").is_dir()
    assert (real / ".well-known").readlink() == tmp_path / "photos"
    assert (real / "robots.txt").readlink() == Path("nowhere")
    assert real.stat().st_mode & 0o7777 == 0o2775
    assert "edition 2" in (www / "index.html").read_text()
    assert list((tmp_path / "disk").iterdir()) == [real]


def test_a_folder_that_fails_half_way_shows_the_old_site(desk, tmp_path, monkeypatch):
    place = in_folder(str(tmp_path / "www"), tmp_path / "www")
    desk.publish(place.to)
    before = place.read()
    desk.build(2)

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "_copy", full)
    with pytest.raises(StoreUnwritable, match="No space left on device; nothing changed"):
        desk.publish(place.to)
    assert place.read() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".www")] == []


def test_a_bucket_that_fails_half_way_is_finished_by_the_next_try(desk, tmp_path, monkeypatch):
    from tensor_assets_tests.publishing.conftest import in_memory
    from tensor_assets_tests.publishing.test_targets import built, root_of

    place = in_memory(tmp_path.name)
    first = desk.publish(place.to)
    desk.build(2)
    monkeypatch.setattr(bucket.BucketTarget, "_replace", lambda self, files: (_ for _ in ()).throw(OSError("reset")))
    with pytest.raises(StoreUnwritable, match="the same command finishes"):
        desk.publish(place.to)
    found = place.read()
    assert b"edition 1" in found["index.html"]
    assert b"edition 1" in found[f"{first.version.folder}/index.html"]
    monkeypatch.undo()
    desk.publish(place.to)
    assert root_of(place.read()) == built(desk.site)


def test_what_was_on_its_way_when_it_failed_is_cleared_by_the_next_try(desk, tmp_path, monkeypatch):
    from tensor_assets_tests.evidence.sftp import sftp_server

    with sftp_server(tmp_path / "served") as server:
        place = in_folder(server.url, server.folder / "store")
        files = bucket.BucketTarget(place.to)._fs  # one for all who ask for it
        monkeypatch.setattr(files, "mv", lambda *_, **__: (_ for _ in ()).throw(OSError("reset")))
        with pytest.raises(StoreUnwritable, match="the same command finishes"):
            desk.publish(place.to)
        assert [path for path in place.read() if "arriving" in path]
        monkeypatch.undo()
        desk.publish(place.to)
        assert not [path for path in place.read() if "arriving" in path]


def test_somebody_elses_push_is_not_overwritten(desk, tmp_path):
    place = on_branch(tmp_path / "site.git")
    desk.publish(place.to)
    desk.build(2)
    hook = tmp_path / "site.git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    before = place.read()
    with pytest.raises(StoreUnwritable, match="git push"):
        desk.publish(place.to)
    assert place.read() == before


def test_a_commit_names_nobody(desk, tmp_path):
    place = on_branch(tmp_path / "site.git")
    desk.publish(place.to)
    desk.build(2)
    desk.publish(place.to)
    log = ["git", "log", "--format=%an %ae %cn %ce", "pages"]
    told = subprocess.run(log, cwd=tmp_path / "site.git", capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == ["tensor_assets tensor_assets tensor_assets tensor_assets"] * 2


def test_a_repository_that_is_not_there(desk, tmp_path):
    with pytest.raises(StoreUnwritable, match="git ls-remote"):
        desk.publish(f"git+{tmp_path / 'none.git'}#pages")


def test_ssh_asks_nobody(tmp_path, monkeypatch):
    """It would ask at the terminal, behind git's back, and a schedule would wait for ever."""
    ssh = tmp_path / "ssh"
    ssh.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/told\nexit 255\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("GIT_SSH_COMMAND", raising=False)
    monkeypatch.delenv("GIT_SSH", raising=False)
    with pytest.raises(StoreUnwritable, match="nothing was published"):
        open_target("git+ssh://nobody@localhost/site.git#gh-pages").holding()
    assert "BatchMode=yes" in (tmp_path / "told").read_text()


def test_the_command_is_dry_unless_told_otherwise(desk, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "Workspace", lambda: desk.space)
    to = str(tmp_path / "www")
    dry = CliRunner().invoke(command.publish, ["--to", to])
    assert dry.exit_code == 0, dry.output
    assert "+ index.html" in dry.stdout
    assert "nothing was changed: --apply publishes" in dry.stdout
    assert not Path(to).exists()
    real = CliRunner().invoke(command.publish, ["--to", to, "--apply"])
    assert f"at {to} (now there: nothing)" in real.stdout
    assert (Path(to) / "index.html").is_file()
    again = CliRunner().invoke(command.publish, ["--to", to, "--apply"])
    assert "has this version already" in again.stdout


def test_the_asset_is_the_same_path(desk, tmp_path, monkeypatch):
    import dagster as dg

    from tensor_assets.defs.publish import PublishConfig, published_site
    from tensor_assets.defs.resources import WorkspaceResource

    monkeypatch.setenv("TENSOR_ASSETS_SITE", str(desk.site))
    monkeypatch.setenv("TENSOR_ASSETS_STORE", desk.space.settings.store)
    resource = WorkspaceResource()
    for apply in (False, True):
        made = published_site(PublishConfig(to=str(tmp_path / "www"), apply=apply), resource)
        assert isinstance(made, dg.MaterializeResult)
        assert made.metadata["published"] == apply
        assert (tmp_path / "www").exists() == apply
        assert "index.html" in made.metadata["plan"].value
