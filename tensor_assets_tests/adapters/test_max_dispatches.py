"""Several routines of MAX in one host function: counted, told apart, and planned each with its own code."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import pytest
from tensor_worker.program import Op, Program, Value

from tensor_assets.settings import load_settings
from tensor_assets.workers.adapters import discover
from tensor_assets_tests.adapters.test_max import TEXTS, code, invocation, module

M, K, N = 8, 16, 24
PROJECTION_JOIN = Program(
    workload="projection_join",
    shape="matrix_inspect",
    inputs=(
        Value(name="x", shape=(M, K), dtype="f16"),
        Value(name="w", shape=(K, N), dtype="f16"),
        Value(name="v", shape=(K, N), dtype="f16"),
    ),
    ops=(
        Op(name="p", op="matmul", of=("x", "w"), shape=(M, N), dtype="f16"),
        Op(name="q", op="matmul", of=("x", "v"), shape=(M, N), dtype="f16"),
        Op(name="y", op="add", of=("p", "q"), shape=(M, N), dtype="f16"),
    ),
    outputs=("y",),
)
JOINED = (
    "Sequence(index.constant, mgp.buffer.bulk_slice, mo.matmul, mgp.tensor.extract.buffer, "
    "Epilogue(mo.matmul, mo.add, operandIndices=[0]), mgp.tensor_spec.create, mgp.tensor.create)"
)
NAIVE, EPILOGUE, JOINING = ("naive", "FFMA"), ("elementwise_7",), ("naive_with_epilogue", "FFMA")


@pytest.mark.parametrize(
    ("summary", "routines"),
    [
        ("mgp.buffer.alloc", 0),
        ("Sequence(index.constant, mgp.buffer.bulk_slice)", 0),
        ("mo.matmul", 1),
        ("Epilogue(mo.matmul, mo.add, operandIndices=[0])", 1),
        ("Sequence(mo.exp)", 1),
        (JOINED, 2),
        ("Sequence(mo.max, Prologue(Epilogue(mo.sub, mo.exp, operandIndices=[0, 1]), mo.sum), mo.div)", 3),
    ],
)
def test_a_sequence_holds_as_many_routines_as_elements_that_compute(summary, routines):
    assert module("dispatches").count_routines(summary) == routines


def test_dispatches_come_in_the_order_they_are_executed_whatever_their_place_in_the_table():
    text = f"""\
    %0 = "mgp.generic.execute"() <{{cFunctionIndex = 0 : ui64, dSummary = "mgp.buffer.plan", eIsAsync = false}}>
    %1 = "mgp.generic.execute"() <{{cFunctionIndex = 2 : ui64, dSummary = "{JOINED}", eIsAsync = false}}>
    %2 = "mgp.generic.execute"() <{{cFunctionIndex = 1 : ui64, dSummary = "mo.exp", eIsAsync = false}}>
    %3 = "mgp.generic.execute"() <{{cFunctionIndex = 1 : ui64, dSummary = "mo.exp", eIsAsync = false}}>
"""
    dispatches = module("dispatches").read_dispatches(text, ["plan", "exp", "joined"])
    assert [(each.symbol, each.routines) for each in dispatches] == [("joined", 2), ("exp", 1), ("exp", 1)]
    held = module("dispatches").routines_of(dispatches, ["matmul", "matmul_add", "exp", "exp"])
    assert held == [("joined", ("matmul", "matmul_add")), ("exp", ("exp",)), ("exp", ("exp",))]
    with pytest.raises(ValueError, match="dispatches 4 routines, its MGP program 3"):
        module("dispatches").routines_of(dispatches, ["matmul", "matmul_add", "exp"])


def executable(*table: str, calls: tuple[str, ...] = ("plan", "joined", "exp", "exp")) -> str:
    """What MAX writes of a program whose functions it put into the table in this order."""
    listed = ", ".join(f'"{name}"' for name in table)
    lines = [f"    %3 = mgp.module.load %2, %1[0] [0], dense_resource<a> : tensor<9xui8>, [{listed}], [] loc(#loc)"]
    for index in map(table.index, calls):
        lines.append(f'    "mgp.generic.execute"() <{{bModuleIndex = 0 : ui64, cFunctionIndex = {index} : ui64}}>')
    return "\n".join(lines)


def test_an_executable_is_compared_whatever_the_order_of_its_table():
    compared, orders = module("dispatches").compared_form, permutations(("plan", "joined", "exp"))
    (form,) = {compared(executable(*order)) for order in orders}
    assert [line.partition("cFunctionIndex = ")[2] for line in form.splitlines()[1:]] == [
        f'"{name}"}}>' for name in ("plan", "joined", "exp", "exp")
    ]
    assert compared(form) == form
    assert compared(executable("plan", "joined", "exp", calls=("plan", "exp", "joined", "exp"))) != form
    assert compared(executable("plan", "joined", "other", "exp")) != form


@pytest.mark.parametrize(
    "text", ["", "cFunctionIndex = 0 : ui64", executable("a", calls=()) + " cFunctionIndex = 1 : ui64"]
)
def test_a_call_of_no_function_of_the_table_is_left_as_it_is(text):
    assert module("dispatches").compared_form(text) == text


@dataclass(frozen=True)
class Reached:
    name: str
    references: tuple[tuple[int, str], ...]


class Host:
    """A host object of functions, each with the symbols it refers to; data symbols hold their own text."""

    def __init__(self, **functions: str) -> None:
        self._functions = {name: tuple(enumerate(text.split())) for name, text in functions.items()}

    def data(self, symbol_name: str) -> bytes:
        return b"" if symbol_name in self._functions else symbol_name.encode() + b"\0"

    def closure(self, symbol: str) -> list[Reached]:
        if symbol not in self._functions:
            return []
        references = self._functions[symbol]
        own = [Reached(symbol, references)]
        return own + [each for _, name in references for each in self.closure(name)]


def parts(host: Host, *routines: str) -> dict[str, list[str]]:
    found = module("dispatches").divide(host, "entry", routines)
    return {routine: [name for _, name in references] for routine, references in found.items()}


class TestDivide:
    def test_a_part_ends_where_its_routine_is_named(self):
        host = Host(entry="unpack gemm naive __matmul elementwise joining __matmul_add pack")
        assert parts(host, "matmul", "matmul_add") == {
            "matmul": ["unpack", "gemm", "naive", "__matmul"],
            "matmul_add": ["elementwise", "joining", "__matmul_add"],
        }

    def test_a_routine_that_is_a_function_of_its_own_is_what_reaches_its_name(self):
        host = Host(entry="unpack outlined elementwise __add", outlined="gemm naive __matmul")
        assert parts(host, "matmul", "add") == {"matmul": ["unpack", "outlined"], "add": ["elementwise", "__add"]}
        reached = module("dispatches").reached_symbols(host, [(0, "outlined")])
        assert reached == ["outlined", "gemm", "naive", "__matmul"]

    def test_a_routine_called_twice_takes_nothing_of_its_neighbour(self):
        host = Host(entry="naive __matmul naive __matmul elementwise __add")
        assert parts(host, "matmul", "matmul", "add")["add"] == ["elementwise", "__add"]

    def test_a_routine_without_its_name_is_an_error(self):
        with pytest.raises(ValueError, match="host function entry does not name its routine add"):
            parts(Host(entry="naive __matmul elementwise"), "matmul", "add")


class TestShareFetched:
    def shared(self, *codes, contracting: tuple[bool, ...], calls: tuple[str, ...] = ()):
        return module("dispatches").share_fetched(codes, contracting, calls)

    @pytest.mark.parametrize("own", [("cublasGemmEx",), ()], ids=["fetched by the first", "moved behind both"])
    def test_a_contraction_makes_the_call_of_its_function_wherever_that_stands(self, own):
        first, second = self.shared(
            code(library=own, kernels=[NAIVE]),
            code(kernels=[EPILOGUE, JOINING]),
            contracting=(True, True),
            calls=("cublasGemmEx",),
        )
        assert first.library_calls == second.library_calls == ("cublasGemmEx",)
        assert (first.inferred, second.inferred) == (not own, True)
        assert [kernel.name for kernel in second.kernels] == ["elementwise_7", "naive_with_epilogue"]

    @pytest.mark.parametrize("kernel", [EPILOGUE, ("row_sums", "FFMA")], ids=["elementwise", "multiplying"])
    @pytest.mark.parametrize("own", [("cublasGemmEx",), ()], ids=["in its part", "elsewhere"])
    def test_what_contracts_nothing_calls_no_library(self, kernel, own):
        scaled, product = self.shared(
            code(library=own, kernels=[kernel]),
            code(kernels=[NAIVE]),
            contracting=(False, True),
            calls=("cublasGemmEx",),
        )
        assert (scaled.library_calls, product.library_calls) == ((), ("cublasGemmEx",))

    def test_a_function_that_calls_no_library_leaves_its_contractions_to_their_kernels(self):
        codes = [code(kernels=[NAIVE]), code(kernels=[JOINING])]
        assert self.shared(*codes, contracting=(True, True)) == codes

    def test_a_part_that_refers_to_nothing_runs_what_was_fetched_before_it(self):
        first, second = self.shared(code(kernels=[EPILOGUE]), code(), contracting=(False, False))
        assert second.kernels == first.kernels


class TestProjectionJoin:
    """Two contractions in one host function, the second with an epilogue: what an sm_90a build holds."""

    def codes(self):
        return [
            code(library=("cublasGemmEx",), kernels=[NAIVE]),
            code(library=("cublasGemmEx",), kernels=[EPILOGUE, JOINING]),
        ]

    def planned(self, steps):
        return [(step.launch.kind, step.launch.name, step.launch.computes, step.routine) for step in steps]

    def test_the_program_has_two_routines(self):
        found = invocation("projection_join.gpu", PROJECTION_JOIN)
        assert [(routine.name, routine.computes) for routine in found.routines] == [
            ("matmul", ("q",)), ("matmul_add", ("p", "y")),
        ]  # fmt: skip

    def test_memory_that_two_routines_read_is_one_input(self):
        """Each takes ``x`` out of its tensor for itself, under a name of its own."""
        first, second = invocation("projection_join.gpu", PROJECTION_JOIN).routines
        assert set(first.reads) & set(second.reads) == {"%0"}
        planning = module("planning")
        found = invocation("projection_join.gpu", PROJECTION_JOIN)
        mgp = (TEXTS / "projection_join.gpu.mgp.mlir").read_text()
        plan = planning.make_plan(PROJECTION_JOIN, found, planning.compiled_steps(found, self.codes()), mgp, [])
        last = {buffer.name: buffer.last for buffer in plan.buffers if buffer.role == "input"}
        assert list(last) == ["x", "w", "v"]
        assert last == {"x": 2, "w": 2, "v": 0}

    def test_without_a_gpu_both_calls_are_planned(self):
        found = invocation("projection_join.gpu", PROJECTION_JOIN)
        assert self.planned(module("planning").compiled_steps(found, self.codes())) == [
            ("library", "cublasGemmEx", ("q",), 0),
            ("library", "cublasGemmEx", ("p",), 1),
            ("kernel", "elementwise_7", ("y",), 1),
        ]

    @pytest.mark.parametrize("seen", [["nvjet", "nvjet"], []], ids=["library traced", "library not traced"])
    def test_on_a_gpu_each_call_belongs_to_its_own_contraction(self, seen):
        planning = module("planning")
        trace = [planning.Observed(kind="kernel", name=name) for name in [*seen, "elementwise_7"]]
        found = invocation("projection_join.gpu", PROJECTION_JOIN)
        steps = self.planned(planning.observed_steps(found, self.codes(), trace))
        assert [(kind, computes, routine) for kind, _, computes, routine in steps] == [
            ("library", ("q",), 0), ("library", ("p",), 1), ("kernel", ("y",), 1),
        ]  # fmt: skip


def test_max_takes_a_small_part_of_the_device_memory():
    variables = discover(load_settings().adapters)["max"].variables
    assert 0 < int(variables["MODULAR_DEVICE_CONTEXT_MEMORY_MANAGER_SIZE_PERCENT"]) <= 5
