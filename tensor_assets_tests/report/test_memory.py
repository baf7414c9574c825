"""Each buffer at the activities that use it, where a compiler told the memory of a whole routine."""

from __future__ import annotations

import msgspec
from tensor_worker.artifacts import Buffer, Launch, Plan
from tensor_worker.program import Op, Program, Value

from tensor_assets.report.memory import memory_uses


def program(*ops: tuple[str, str, tuple[str, ...]], inputs: str) -> Program:
    return Program(
        workload="w",
        shape="matrix",
        inputs=tuple(Value(name=name, shape=(4, 4), dtype="f16") for name in inputs.split()),
        ops=tuple(Op(name=name, op=op, of=of, shape=(4, 4), dtype="f16") for name, op, of in ops),
        outputs=("y",),
    )


WEIGHT_VIEW = program(
    ("w", "transpose", ("wt",)), ("p", "matmul", ("x", "w")), ("y", "add", ("p", "b")), inputs="x wt b"
)


def buffer(name, role, first=None, last=None):
    return Buffer(name=name, role=role, bytes=32, first=first, last=last)


# As MAX told it on an H200: one routine of a memset, a library call and the kernel behind it.
ROUTINE = Plan(
    launches=(
        Launch(kind="memset", name="cuMemset"),
        Launch(kind="library", name="cublasGemmEx", computes=("p",)),
        Launch(kind="kernel", name="elementwise", computes=("y",)),
    ),
    buffers=(
        buffer("x", "input", last=2),
        buffer("wt", "input", last=2),
        buffer("b", "input", last=2),
        buffer("y", "output", first=1),
        buffer("p (in the memory of %8)", "intermediate", first=1, last=2),
        buffer("cuMemset", "workspace", first=0),
    ),
)


def shown(plan, of):
    return {use.buffer.name: (use.first, use.last) for use in memory_uses(plan, of)}


def test_each_buffer_is_at_the_activity_that_computes_with_it():
    found = shown(ROUTINE, WEIGHT_VIEW)
    assert found["x"] == (None, 1), "the product reads it, the addition does not"
    assert found["wt"] == (None, 1), "the product reads it, through a view that nothing computes"
    assert found["b"] == (None, 2)
    assert found["y"] == (2, None), "before, its memory holds the product, which has a row of its own"
    assert found["p (in the memory of %8)"] == (1, 2)
    assert found["cuMemset"] == (0, None)
    narrowed = [use.buffer.name for use in memory_uses(ROUTINE, WEIGHT_VIEW) if use.narrowed]
    assert narrowed == ["x", "wt", "y"]


def test_without_a_program_or_without_ops_it_stays_as_recorded():
    recorded = {one.name: (one.first, one.last) for one in ROUTINE.buffers}
    assert shown(ROUTINE, None) == recorded
    blind = tuple(msgspec.structs.replace(launch, computes=()) for launch in ROUTINE.launches)
    assert shown(msgspec.structs.replace(ROUTINE, launches=blind), WEIGHT_VIEW) == recorded


def test_a_copy_made_first_keeps_its_reader():
    """An input that is widened by a kernel of its own is read by that kernel, whatever computes from the copy."""
    plan = Plan(
        launches=(
            Launch(kind="kernel", name="cast"),
            Launch(kind="library", name="gemm", computes=("p",)),
            Launch(kind="kernel", name="add", computes=("y",)),
        ),
        buffers=(buffer("x", "input", last=0), buffer("y", "output", first=2)),
    )
    (x, y) = memory_uses(plan, WEIGHT_VIEW)
    assert (x.last, x.narrowed, x.beyond) == (0, False, (1,))
    assert (y.first, y.narrowed, y.beyond) == (2, False, ())


def test_an_activity_that_computes_from_an_input_after_its_recorded_end_is_named():
    """MAX's join reads x twice and tells of the first time."""
    join = program(("p", "matmul", ("x", "w")), ("q", "matmul", ("x", "v")), ("y", "add", ("p", "q")), inputs="x w v")
    plan = Plan(
        launches=(
            Launch(kind="library", name="cublasGemmEx", computes=("q",)),
            Launch(kind="library", name="cublasGemmEx", computes=("p",)),
        ),
        buffers=(buffer("x", "input", last=0), buffer("v", "input", last=0)),
    )
    assert [use.beyond for use in memory_uses(plan, join)] == [(1,), ()]
