"""An activity has one name, which is its number on every page."""

from __future__ import annotations

from tensor_worker.activities import activity


def test_the_first_launch_of_a_plan_is_activity_1():
    assert [activity(launch) for launch in range(3)] == ["activity 1", "activity 2", "activity 3"]
