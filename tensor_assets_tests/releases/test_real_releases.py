"""One real update with real packages: a companion that crashes its compiler. ``make releases-real`` has the others."""

from __future__ import annotations

import pytest

from tensor_assets.campaign.environment import environment_record
from tensor_assets.releases.accepted import accepted_release
from tensor_assets_tests.releases.real import segfault_of_tvm

pytestmark = pytest.mark.compilers


def test_a_companion_that_segfaults_its_compiler_is_held_with_its_log(tmp_path):
    space, done = segfault_of_tvm(tmp_path)
    trial = done.trial.record
    assert trial.candidate == {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.15.post2"}
    assert "SIGSEGV" in trial.outcome.reason
    log = space.store.read(trial.outcome.log)
    assert b"Segfault" in log or b"SIGSEGV" in log
    assert done.decision.record.decision == "held"
    assert [changes.record.alert for changes in done.changes] == [True]
    assert accepted_release(space.adapter("tvm"))["apache-tvm-ffi"] == "0.1.14.post1"
    good = environment_record(space, "tvm", "sm_90").stored.record
    assert (good.outcome.status, good.freeze["apache-tvm-ffi"]) == ("ok", "0.1.14.post1")
