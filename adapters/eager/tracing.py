"""The operators that PyTorch dispatches while a program runs, and the text that shows them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .source import SOURCE_NAME


@dataclass(frozen=True)
class Dispatched:
    """One operator call. ``inputs`` are results of earlier calls or names of the program's inputs."""

    name: str  # of its result
    operator: str
    inputs: tuple[str, ...]
    arguments: tuple[str, ...]
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    bytes: int
    view: bool  # its result shares an input's storage: nothing is computed
    line: int | None  # of the program's source


class Tracer(TorchDispatchMode):
    """Records calls below autograd and type promotion, where each one is a kernel or a view."""

    def __init__(self, inputs: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.calls: list[Dispatched] = []
        self._names = {id(tensor): name for name, tensor in inputs.items()}
        self._alive: list[torch.Tensor] = []  # results must live on, or a later one could have the same id

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self._record(func, args, kwargs or {}, result)
        return result

    def name_of(self, tensor: torch.Tensor) -> str:
        return self._names[id(tensor)]

    def _record(self, func: Any, args: Any, kwargs: dict[str, Any], result: torch.Tensor) -> None:
        tensors = [argument for argument in args if isinstance(argument, torch.Tensor)]
        name = f"%{len(self.calls)}"
        self.calls.append(
            Dispatched(
                name=name,
                operator=str(func),
                inputs=tuple(self.name_of(tensor) for tensor in tensors),
                arguments=(*map(self._shown, args), *(f"{key}={self._shown(value)}" for key, value in kwargs.items())),
                shape=tuple(result.shape),
                stride=tuple(result.stride()),
                dtype=str(result.dtype).removeprefix("torch."),
                bytes=result.numel() * result.element_size(),
                view=any(result.data_ptr() == tensor.data_ptr() for tensor in tensors),
                line=_source_line(),
            )
        )
        self._names[id(result)] = name
        self._alive.append(result)

    def _shown(self, argument: Any) -> str:
        return self.name_of(argument) if isinstance(argument, torch.Tensor) else str(argument)


def printed(calls: list[Dispatched]) -> str:
    """One line per call, in order."""
    return "".join(
        f"{call.name} = {call.operator}({', '.join(call.arguments)})"
        f"  # {call.dtype}{list(call.shape)} stride {list(call.stride)}{', view' if call.view else ''};"
        f" {SOURCE_NAME}:{call.line}\n"
        for call in calls
    )


def _source_line() -> int | None:
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename == SOURCE_NAME:
            return int(frame.f_lineno)
        frame = frame.f_back
    return None
