"""What a stage changed of the one before it: the counts are those of the smallest difference, by any way to it."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tensor_assets.report.differences import difference, kept_lines

LINES = some.lists(some.sampled_from("abcd"), max_size=70)  # more lines than a machine word has bits
LOCATED = "%0 = tt.load %a : tensor<4xf16> loc(#loc{})"


@given(old=LINES, new=LINES)
def test_as_many_lines_are_kept_as_the_longest_common_subsequence_has(old, new):
    lengths = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, one in enumerate(old):
        for j, other in enumerate(new):
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if one == other else max(lengths[i][j + 1], lengths[i + 1][j])
    assert kept_lines(old, new) == lengths[-1][-1]


@given(old=LINES, new=LINES)
def test_no_difference_is_smaller_than_what_is_counted(old, new):
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    assert kept_lines(old, new) >= sum(block.size for block in blocks)


def said(old: str, new: str, languages=("mlir", "mlir")):
    return difference("before", "Before", (old, new), languages)


def test_what_every_pass_numbers_anew_is_no_change():
    found = said(f"{LOCATED.format(1)}\nreturn", f"  {LOCATED.format('23(at nested)')}\r\n  return\r\n\n")
    assert (found.kept, found.removed, found.added, found.share) == (2, 0, 0, 1.0)


def test_a_text_taken_up_whole_by_a_longer_one_is_worth_showing():
    found = said("a\nb", "a\n" + "x\n" * 30 + "b")
    assert (found.kept, found.removed, found.added) == (2, 0, 30)
    assert found.worth_showing


@pytest.mark.parametrize(
    ("old", "new", "languages"),
    [
        ("a = 1\nb = 2", "c = 1\nd = 2\n", ("mlir", "mlir")),
        ("a\n}\n}\n}", "b\n}\n}\n}", ("c", "c")),  # braces alone say nothing
        ("same", "same", ("cuda", "ptx")),
        ("", "a", ("text", "text")),
    ],
)
def test_two_texts_that_share_nothing_are_not_shown_as_a_difference(old, new, languages):
    assert not said(old, new, languages).worth_showing
