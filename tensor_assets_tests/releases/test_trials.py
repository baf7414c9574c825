"""A release appears, is tried beside the accepted one in one session, and is accepted or held: with a toy compiler."""

from __future__ import annotations

import pytest

from tensor_assets.campaign.capture import capture_cell, captures_of
from tensor_assets.errors import SettingsError
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.verification import verify
from tensor_assets.records import ChangesRecord, SessionRecord
from tensor_assets.releases.candidates import at_version
from tensor_assets.releases.deciding import decide_by_hand
from tensor_assets.releases.news import release_news
from tensor_assets.releases.requests import wanted_of
from tensor_assets.releases.running import Proposal, Tried, proposal, try_release
from tensor_assets.report.pages import write_pages
from tensor_assets.report.reading import read_snapshot
from tensor_assets.report.site import build_site
from tensor_assets_tests.releases.toy import PACKAGE, SMALL, checkout, sha256

__all__ = ["checkout"]
pytestmark = pytest.mark.compilers
CELL = ("weight_view",)


def tried(checkout, version, module="", **options):
    checkout.release(version, module)
    release_news(checkout.space, "toy")
    done = try_release(checkout.space, "toy", SMALL, CELL, **options)
    assert isinstance(done, Tried), done
    return done


def test_nothing_new_is_nothing_to_do(checkout):
    news = release_news(checkout.space, "toy").record
    assert (news.newest, news.candidate, news.lock) == ({PACKAGE: "1.0"}, {}, None)
    assert proposal(checkout.space, "toy", SMALL).why == "1.0 is the newest"
    assert release_news(checkout.space, "toy").reused


def test_a_good_release_is_accepted_and_runs_from_then_on(checkout):
    old, *_ = capture_cell(checkout.space, "weight_view", "toy", SMALL)
    done = tried(checkout, "1.1", 'TEXT = "style = 2\\n"')
    (cell, wrong) = done.trial.record.cells
    assert (cell.code, cell.numbers) == ("text", "same")  # it reads differently, the same code was selected
    assert [(s.stage, s.change) for s in cell.stages] == [("program", "changed"), ("machine", "same")]
    said = checkout.space.store.read(cell.stages[0].difference).decode()
    assert "-style = 1\n+style = 2\n" in said
    assert (wrong.variant, wrong.old_status, wrong.new_status) == ("unrounded", "rejected", "rejected")
    assert cell.speed not in ("slower", "faster")  # the same code: whatever differs is noise
    assert (done.decision.record.decision, done.decision.record.by) == ("accepted", "rule")
    assert checkout.accepted == "1.1"
    assert f"{PACKAGE}==1.0" in (checkout.adapter / "requirements.lock").read_text()
    new = captures_of(checkout.opened(), "weight_view", "cpu", SMALL.shape, "toy")[0]
    assert (new.id, new.record.version) == (cell.new, "1.1")
    assert cell.old == old.id
    assert verify(checkout.space.settings.store).sound


def test_the_site_tells_of_it(checkout):
    tried(checkout, "1.1", 'TEXT = "<b>style</b> = 2\\n"')
    tried(checkout, "1.2", "def on_compile():\n    import os; print('tensorize'); os.abort()")
    pages = write_pages(PublicView(checkout.space.store), checkout.folder / "pages")
    site = build_site(pages, checkout.folder / "site").parent  # a broken link would end it
    told = (site / "changes.html").read_text()
    assert "the worker died of SIGABRT while answering compile" in told
    texts = [path.read_text() for path in sorted((site / "changes").glob("*.html"))]
    assert len(texts) == 2
    assert any("&lt;b&gt;style&lt;/b&gt; = 2" in text for text in texts)
    assert not any("<b>style" in text for text in texts)
    home = (site / "index.html").read_text()
    assert home.index("toy: 1.2 is held") < home.index("toy: 1.1 is accepted")


def test_old_and_new_are_interleaved_in_one_session(checkout):
    done = tried(checkout, "1.1", "SECONDS = 0.02\nMACHINE = 'sleep\\n'")
    (cell, _) = done.trial.record.cells
    session = checkout.space.store.get(cell.session)
    assert isinstance(session, SessionRecord)
    assert sorted({(p.arm, p.replicate) for p in session.processes}) == [
        (arm, n) for arm in ("new", "old") for n in range(4)
    ]
    arms = {process.index: process.arm for process in session.processes}
    assert {arms[block.process] for block in session.blocks if block.round == 0} == {"old", "new"}
    assert (cell.code, cell.numbers, cell.speed) == ("changed", "same", "slower")
    comparison = cell.speeds[0].comparison
    assert comparison.interval[0] > 1.5
    assert cell.speeds[0].noise is not None
    assert done.decision.record.decision == "accepted"  # slower is told, not refused
    assert done.changes[0].record.alert
    assert done.changes[0].record.counts["speed slower"] == 1


@pytest.mark.parametrize(
    ("module", "status", "reason"),
    [
        ("ROUNDS = False", "rejected", "weight_view (default, cpu)"),
        ("def on_compile():\n    import os; print('tensorize'); os.abort()", "crashed", "SIGABRT"),
    ],
)
def test_a_release_that_breaks_something_is_held_and_told_once(checkout, module, status, reason):
    done = tried(checkout, "1.1", module)
    assert done.trial.record.outcome.status == status
    assert reason in done.trial.record.outcome.reason
    assert (done.trial.record.outcome.log is not None) is (status == "crashed")
    assert done.decision.record.decision == "held"
    assert [changes.record.alert for changes in done.changes] == [True]
    assert checkout.accepted == "1.0"
    again = try_release(checkout.opened(), "toy", SMALL, CELL)
    assert isinstance(again, Proposal)
    assert again.why.startswith("1.1 after 1.0 was tried and is held")
    forced = try_release(checkout.opened(), "toy", SMALL.__class__(shape=SMALL.shape, force=True), CELL)
    assert isinstance(forced, Tried)
    assert forced.trial.id != done.trial.id
    assert forced.changes == []  # the same decision is not told again
    shown = read_snapshot(PublicView(checkout.space.store)).configurations
    assert {c.capture.version for c in shown} == {"1.0"}  # what is held is no cell


def test_a_release_that_cannot_be_installed_is_held_with_its_log(checkout):
    path = checkout.release("1.1")
    release_news(checkout.space, "toy")
    path.unlink()
    done = try_release(checkout.space, "toy", SMALL, CELL)
    assert done.trial.record.outcome.status == "unavailable"
    assert "the environment of toy cannot be built" in done.trial.record.outcome.reason
    assert done.trial.record.cells == ()
    assert done.decision.record.decision == "held"
    log = checkout.space.store.read(done.trial.record.outcome.log)
    assert b"uv pip sync --require-hashes" in log


def test_people_decide_too(checkout):
    tried(checkout, "1.1")
    decide_by_hand(checkout.space, "toy", "1.1", "held", "the team waits")
    assert checkout.accepted == "1.0"
    decide_by_hand(checkout.opened(), "toy", "1.1", "accepted")
    assert checkout.accepted == "1.1"
    decide_by_hand(checkout.opened(), "toy", "1.0", "accepted")
    assert checkout.accepted == "1.0"
    with pytest.raises(SettingsError, match=r"toy '9' was never seen or tried \(known: '1.0', '1.1'\)"):
        decide_by_hand(checkout.space, "toy", "9", "accepted")
    with pytest.raises(SettingsError, match="cannot be held"):
        decide_by_hand(checkout.space, "toy", "1.0", "held")
    assert len(list(checkout.space.store.records(ChangesRecord, history=True))) == 1


def test_a_new_lock_of_the_repository_sets_older_decisions_aside(checkout):
    tried(checkout, "1.1")
    assert checkout.accepted == "1.1"
    lock = checkout.adapter / "requirements.lock"
    lock.write_text(lock.read_text() + "# its authors have moved on\n")
    assert checkout.accepted == "1.0"
    release_news(checkout.opened(), "toy")
    (wanted,) = wanted_of(checkout.opened(), SMALL).runs
    assert wanted.why == "1.1 after 1.0"  # the acceptance has lapsed: it is tried again, beside this lock
    assert isinstance(try_release(checkout.opened(), "toy", SMALL, CELL), Tried)
    assert checkout.accepted == "1.1"


def test_a_release_whose_trial_was_killed_before_it_was_decided(checkout):
    tried(checkout, "1.1", "ROUNDS = False", decides=False)
    (wanted,) = wanted_of(checkout.opened(), SMALL).runs
    assert (wanted.kind, wanted.why) == ("trial", "1.1 was tried and nobody decided")
    done = try_release(checkout.opened(), "toy", SMALL, CELL)
    assert isinstance(done, Proposal)
    assert done.why.startswith("1.1 was tried before and is held: weight_view (default, cpu)")
    assert [changes.record.alert for changes in done.changes] == [True]
    assert wanted_of(checkout.opened(), SMALL).runs == []
    assert try_release(checkout.opened(), "toy", SMALL, CELL).changes == ()


def test_any_version_can_be_asked_without_becoming_a_cell(checkout):
    wheel = checkout.release("0.9", 'TEXT = "style = 0\\n"')
    found = at_version(checkout.space, "toy", "0.9")
    assert sha256(wheel) in found.lock.read_text()
    assert found.release == {PACKAGE: "0.9"}
    (capture, _) = capture_cell(found.space, "weight_view", "toy", SMALL)
    assert capture.record.version == "0.9"
    assert captures_of(checkout.space, "weight_view", "cpu", SMALL.shape, "toy") == []
    assert read_snapshot(PublicView(checkout.space.store)).configurations == ()
