"""What a stage changed of the one before it: counted here, shown line by line by the browser (``difference.js``).

Lines are the same if they are so without the blanks around them and without MLIR's source locations, which every pass
numbers anew. The browser asks for the smallest difference under the same rule, so it shows what is counted here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import msgspec
from tensor_worker.artifacts import Language

from tensor_assets.evidence.shown import lines_of

# Of the words of the shorter text, the part that must stand in the other. Below it a difference is both texts, one in
# red and one in green. In the recorded campaigns a pass that rewrites keeps 0.19 and more, a change of representation
# in one language (tinygrad's kernels before and after its optimizer) 0.10 at most.
WORTH_SHOWING = 0.15

_LOCATION = re.compile(r"(?: loc\((?:[^()]|\([^()]*\))*\)|(?<=^#loc)\d+)")
_WORD = re.compile(r"[^\W_]")


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """From the stage called ``before``, whose page heads it ``title``."""

    before: str
    title: str
    kept: int
    removed: int
    added: int
    share: float  # lines with a word in them that are kept, of those of the shorter text
    languages: tuple[Language, Language]

    @property
    def worth_showing(self) -> bool:
        return self.languages[0] == self.languages[1] and self.share >= WORTH_SHOWING


def difference(before: str, title: str, texts: tuple[str, str], languages: tuple[Language, Language]) -> Difference:
    """``texts`` and ``languages`` are those of the earlier stage and of the later one."""
    old, new = (_comparable(text) for text in texts)
    kept = kept_lines(old, new)
    words = [[line for line in lines if _WORD.search(line)] for lines in (old, new)]
    shorter = min(len(lines) for lines in words)
    return Difference(
        before=before,
        title=title,
        kept=kept,
        removed=len(old) - kept,
        added=len(new) - kept,
        share=kept_lines(*words) / shorter if shorter else 0.0,
        languages=languages,
    )


def kept_lines(old: Sequence[str], new: Sequence[str]) -> int:
    """Length of the longest common subsequence of two lists of lines.

    Bit-parallel (Hyyrö 2004, "Bit-parallel LCS-length computation revisited"): one bit a line of ``old``.
    """
    places: defaultdict[str, int] = defaultdict(int)
    for place, line in enumerate(old):
        places[line] |= 1 << place
    row = everything = (1 << len(old)) - 1
    for line in new:
        matched = row & places.get(line, 0)
        row = ((row + matched) | (row - matched)) & everything
    return len(old) - row.bit_count()


def _comparable(text: str) -> list[str]:
    lines = lines_of(text)
    if "loc(" in text:  # in MLIR alone; a campaign has millions of other lines
        lines = [_LOCATION.sub("", line) for line in lines]
    return [line.strip() for line in lines]
