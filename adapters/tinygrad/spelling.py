"""tinygrad's own words, without the objects that they come in."""

from __future__ import annotations

from tinygrad.codegen.opt import Opt


def spell(opt: Opt) -> str:
    """An option of the schedule, e.g. ``UPCAST axis 0 by 4``; a tensor core option names its choice and level."""
    if opt.op.name == "TC":
        select, level, use = opt.arg  # type: ignore[misc]
        return f"TC axis {opt.axis} select {select} level {level} use {use}"
    axis = "" if opt.axis is None else f" axis {opt.axis}"
    return f"{opt.op.name}{axis}" + ("" if opt.arg is None else f" by {opt.arg}")
