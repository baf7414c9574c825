"""Reads Relax modules: bindings of a function, calls of a fused module, and what each call computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import tvm
from tensor_worker.program import Program
from tvm import IRModule, relax

from .lowering import op_of


@dataclass(frozen=True)
class Binding:
    """``name = callee(reads…)``. ``callee`` is a function of the module or a Relax operator."""

    name: str
    callee: str
    reads: tuple[str, ...]


@dataclass(frozen=True)
class FusedCall:
    """One call of ``main`` after fusion, in execution order."""

    function: str  # the function of the module that it calls
    reads: tuple[str, ...]  # values that it reads, by the name they had before fusion
    writes: str
    computes: tuple[str, ...]  # program ops
    library: bool = False  # calls something that TVM did not generate


def bindings(function: relax.Function) -> tuple[Binding, ...]:
    """The bindings of a function in order; a renaming of a variable is none."""
    found = []
    for block in function.body.blocks:
        for binding in block.bindings:
            if isinstance(binding.value, relax.Call):
                callee, arguments = _callee(binding.value)
                found.append(Binding(str(binding.var.name), callee, tuple(arguments)))
    return tuple(found)


def fused_calls(fused: IRModule, original: IRModule, program: Program) -> tuple[FusedCall, ...]:
    """``fused`` is the module after fusion (or legalization, where nothing fuses), ``original`` the one before."""
    calls = bindings(fused["main"])
    before = bindings(original["main"])
    names = _names_before_fusion(calls, fused, before, program)
    owners = _owners(calls, fused, before, names)
    return tuple(
        FusedCall(
            function=call.callee,
            reads=tuple(names.get(name, name) for name in call.reads),
            writes=names.get(call.name, call.name),
            computes=_computed(index, owners, program),
            library=not _generated(fused, call.callee),
        )
        for index, call in enumerate(calls)
    )


def _callee(call: relax.Call) -> tuple[str, Iterator[str]]:
    if isinstance(call.op, tvm.ir.Op) and call.op.name.startswith("relax.call_"):
        return _name(call.args[0]), _variables(call.args[1])
    return _name(call.op), _variables(call.args)


def _name(called: relax.Expr) -> str:
    for attribute in ("name_hint", "global_symbol", "name"):
        if hasattr(called, attribute):
            return str(getattr(called, attribute))
    raise RuntimeError(f"a call of {type(called).__name__} has no name")


def _variables(arguments: Sequence[relax.Expr]) -> Iterator[str]:
    return (str(argument.name) for argument in arguments if isinstance(argument, relax.Var))


def _names_before_fusion(
    calls: Sequence[Binding], fused: IRModule, before: Sequence[Binding], program: Program
) -> dict[str, str]:
    """What fusion renamed. A value is known by its name, as an output, or as the parameter that a later call reads."""
    known = {binding.name for binding in before} | {value.name for value in program.inputs}
    names = {call.name: call.name for call in calls if call.name in known}
    names |= dict(zip(_returned(fused["main"]), program.outputs, strict=True))
    for call in calls:
        function = fused[call.callee] if _generated(fused, call.callee) else None
        parameters = (
            [str(parameter.name) for parameter in function.params] if isinstance(function, relax.Function) else []
        )
        for read, parameter in zip(call.reads, parameters, strict=False):
            if read not in known and parameter in known:
                names.setdefault(read, parameter)
    return names


def _returned(function: relax.Function) -> list[str]:
    result = function.body.body
    seen = {str(binding.var.name): binding.value for block in function.body.blocks for binding in block.bindings}
    while isinstance(result, relax.Var) and isinstance(seen.get(str(result.name)), relax.Var | relax.Tuple):
        result = seen[str(result.name)]
    return list(_variables(result.fields)) if isinstance(result, relax.Tuple) else [str(result.name)]


def _owners(
    calls: Sequence[Binding], fused: IRModule, before: Sequence[Binding], names: Mapping[str, str]
) -> dict[str, int]:
    """The call that computes each variable; one that fusion took into another's code goes to its reader."""
    wanted = {binding.name for binding in before}
    owners: dict[str, int] = {}
    for index, call in enumerate(calls):
        function = fused[call.callee] if _generated(fused, call.callee) else None
        inner = [binding.name for binding in bindings(function)] if isinstance(function, relax.Function) else []
        owners |= {name: index for name in (*inner, names.get(call.name, call.name)) if name in wanted}
    for binding in reversed(before):
        readers = [owners[reader.name] for reader in before if binding.name in reader.reads and reader.name in owners]
        if binding.name not in owners and readers:
            owners[binding.name] = min(readers)
    return owners


def _computed(index: int, owners: Mapping[str, int], program: Program) -> tuple[str, ...]:
    mine = {op_of(name) for name, owner in owners.items() if owner == index}
    return tuple(op.name for op in program.ops if op.name in mine)


def _generated(module: IRModule, name: str) -> bool:
    return any(variable.name_hint == name for variable in module.get_global_vars())
