"""Steps are shown as they were announced, whatever they hold."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tensor_assets.commands.terminal import Terminal


@pytest.mark.parametrize("interactive", [False, True])
@pytest.mark.parametrize("step", ["reading [/usr/lib]", "tensor-assets[gpu]", "tvm: f16[M, K] [bold]", "[link=x]y[/]"])
def test_brackets_in_a_step_are_no_markup(step: str, interactive: bool) -> None:
    shown = io.StringIO()
    terminal = Terminal()
    terminal.console = Console(file=shown, force_terminal=interactive, color_system=None, width=200)
    terminal(step)
    terminal._end_step()
    assert f"]  {step}" in shown.getvalue()
