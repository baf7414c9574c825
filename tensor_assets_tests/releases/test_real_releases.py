"""Real packages: a companion that crashes its compiler, and an adapter that must speak two versions of its own.

``make releases-real`` tells both updates to the end.
"""

from __future__ import annotations

import pytest

from tensor_assets.campaign.capture import capture_cell
from tensor_assets.campaign.environment import environment_record
from tensor_assets.campaign.options import Options
from tensor_assets.releases.accepted import accepted_release
from tensor_assets_tests.releases.real import SHAPE, at_older_tinygrad, segfault_of_tvm

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


@pytest.mark.parametrize("target", ["cpu", "sm_90"])
def test_the_adapter_of_tinygrad_speaks_the_version_before_its_own(tmp_path, target):
    space = at_older_tinygrad(tmp_path)
    capture = capture_cell(space, "weight_view", "tinygrad", Options(target=target, shape=SHAPE))[0].record
    assert (capture.outcome.status, capture.outcome.reason, capture.version) == ("ok", "", "0.13.0")
    assert {file.stage for file in capture.stages} >= {"tensor-uops", "kernels", "linearized", "source-0", "machine-0"}
    (launch,) = capture.plan.launches
    assert launch.computes == ("w", "p", "y")
    assert {buffer.name: buffer.bytes for buffer in capture.plan.buffers}["y"] == 2 * 8 * 24
