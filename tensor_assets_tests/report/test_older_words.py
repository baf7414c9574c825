"""Records whose words number activities from 0, or leave memsets out, do not contradict the page that shows them."""

from __future__ import annotations

import msgspec
import pytest
from tensor_worker.artifacts import Decision, Launch, Plan, Rounding, Stage

from tensor_assets.report.older_words import told_decisions, told_stage

# As of projection_join on an H200: a product, another, the kernel that adds them.
PLAN = Plan(
    launches=(
        Launch(kind="library", name="extern_kernels.mm", computes=("p",)),
        Launch(kind="library", name="extern_kernels.mm", computes=("q",)),
        Launch(kind="kernel", name="triton_poi_fused_add_0", computes=("y",)),
    ),
    roundings=tuple(Rounding(boundary=name, launch=number, evidence="…") for number, name in enumerate("pqy")),
)
# As of MAX.
CLEARED = Plan(
    launches=(
        Launch(kind="memset", name="cuMemset"),
        Launch(kind="library", name="cublasGemmEx", computes=("p",)),
        Launch(kind="kernel", name="elementwise", computes=("y",)),
    )
)


def told(subject: str, result: str, plan: Plan = PLAN):
    decision = Decision(subject=subject, result=result, before="fx", after="code", mechanism="a pass")
    (found,) = told_decisions((decision,), plan)
    assert found.decision == decision, "the record keeps its words"
    return found


@pytest.mark.parametrize(
    ("subject", "recorded", "shown"),
    [
        ("rounding of q", "in launch 1, extern_kernels.mm", "in activity 2, extern_kernels.mm"),
        ("rounding of p", "in launch 0", "in activity 1"),
        ("rounding of p", "in kernel 0, by its store alone", "in activity 1, by its store alone"),
    ],
)
def test_a_rounding_is_told_by_the_number_of_its_activity(subject, recorded, shown):
    found = told(subject, recorded)
    assert (found.result, found.recorded) == (shown, recorded.partition(",")[0])


@pytest.mark.parametrize(
    ("subject", "result"),
    [
        ("rounding of q", "in activity 2, extern_kernels.mm"),  # as adapters write now
        ("rounding of q", "in launch 2"),  # not where the plan has it: who knows from where it counts
        ("rounding of z", "in launch 1"),
        ("transpose w", "in launch 1"),
        ("rounding of q", "none of its own in extern_kernels.addmm"),
        ("rounding of q", "folded in launch 1"),
    ],
)
def test_other_words_stay_as_they_are(subject, result):
    found = told(subject, result)
    assert (found.result, found.recorded, found.beside) == (result, "", "")


def test_without_a_plan_nothing_is_renumbered():
    assert told("rounding of q", "in launch 1", Plan(launches=())).recorded == ""


def test_a_count_without_memsets_says_what_it_counts():
    found = told("fusion of p, y", "one routine, 2 device activities", CLEARED)
    assert found.result == "one routine, 2 device activities"
    assert "memsets not counted" in found.beside


@pytest.mark.parametrize(
    ("result", "plan"),
    [
        ("one routine, 3 device activities: memset, library, kernel", CLEARED),  # as MAX's adapter writes now
        ("one routine, 3 device activities", CLEARED),
        ("one routine, one call of generated code", CLEARED),
        ("one routine, 2 device activities", msgspec.structs.replace(CLEARED, launches=CLEARED.launches[1:])),
    ],
)
def test_a_count_of_everything_has_nothing_beside_it(result, plan):
    assert told("fusion of p, y", result, plan).beside == ""


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [
        ("CUDA of kernel 0: r_16_8_32", "CUDA of activity 1: r_16_8_32"),
        ("SASS of kernel 1", "SASS of activity 2"),
        ("CUDA of activity 1: r_16_8_32", "CUDA of activity 1: r_16_8_32"),
        ("Scheduled kernels", "Scheduled kernels"),
        ("matrix_kernel_0: PTX", "matrix_kernel_0: PTX"),
        ("Notes on CUDA of kernel 0", "Notes on CUDA of kernel 0"),
    ],
)
def test_a_stages_title_has_the_number_of_its_activity(recorded, shown):
    stage = Stage(name="source-0", title=recorded, level="code", language="cuda", path="a", produced_by="b")
    assert told_stage(stage) == msgspec.structs.replace(stage, title=shown)
