"""tinygrad's own words, without the objects that they come in."""

from __future__ import annotations

import re

from tinygrad.codegen.opt import Opt, OptOps

_TENSOR_CORE = re.compile(r"TC axis (\d+) select (-?\d+) level (\d+) use (\d+)")
_OPTION = re.compile(r"([A-Z]+)(?: axis (\d+))?(?: by (\d+))?")


def spell(opt: Opt) -> str:
    """An option of the schedule, e.g. ``UPCAST axis 0 by 4``; a tensor core option names its choice and level."""
    if opt.op.name == "TC":
        select, level, use = opt.arg  # type: ignore[misc]
        return f"TC axis {opt.axis} select {select} level {level} use {use}"
    axis = "" if opt.axis is None else f" axis {opt.axis}"
    return f"{opt.op.name}{axis}" + ("" if opt.arg is None else f" by {opt.arg}")


def unspell(words: str) -> Opt:
    """The option that ``spell`` spelled so. Raises ValueError for anything else."""
    if found := _TENSOR_CORE.fullmatch(words):
        core, select, level, use = map(int, found.groups())
        return Opt(OptOps.TC, core, (select, level, use))
    if (found := _OPTION.fullmatch(words)) and found[1] in OptOps.__members__:
        axis, argument = (int(number) if number else None for number in found.groups()[1:])
        return Opt(OptOps[found[1]], axis, argument)
    raise ValueError(f"{words!r} is no option of a tinygrad schedule")
