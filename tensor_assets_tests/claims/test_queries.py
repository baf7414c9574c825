"""A query that can never be answered is refused when it is read, with what could be asked instead."""

from __future__ import annotations

import pytest

from tensor_assets.claims.query import BadQuery, Query


@pytest.mark.parametrize(
    "text",
    [
        "graph.nodes[?role=='cast'].dtype",
        "kernels[].[grid, block] | [0]",
        "kernels[0].parameters.\"DLight rule\"",
        "stages.\"kernel.x.ptx\".text",
        "sort_by(kernels, &position)[*].name",
        "length(timeline[?kind=='kernel'] || kernels)",
        "timings.host.medians_us",
        "admission.exact.mismatches.\"exact-0\"",
        "kernels[].keys(matrix_opcodes)[]",
        "max_by(kernels, &threads).name",
        "kernels[*].{a: grid, b: parameters.x}",
        "stages.*.language",
        "activities[0].grid[0]",
        "kernels[?opcodes.\"HMMA.16816.F32\" > `3`].name",
    ],
)  # fmt: skip
def test_what_the_view_has_can_be_asked(text: str) -> None:
    Query(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kernel[].grid", "a document has no field 'kernel' (have: workload, shape, compiler,"),
        ("kernels[].gird", "a kernel has no field 'gird' (have: position, kind, name, grid"),
        ("kernels.grid", "'grid' is asked of a list, which has no fields"),
        ("graph.nodes[?rolle=='cast']", "a node has no field 'rolle'"),
        ("length(graph.nodes[].oops)", "a node has no field 'oops'"),
        ("sort_by(kernels, &speed)", "a kernel has no field 'speed'"),
        ("kernels[0].name.first", "'first' is asked of a str, which has no fields"),
        ("timings.host.median", "a timing has no field 'median'"),
        ("stages.*.words", "a stage has no field 'words'"),
        ("kernels[", "is not JMESPath"),
        ("", "is not JMESPath"),
        ("no_such_function(kernels)[", "is not JMESPath"),
        ("(" * 5000 + "compiler" + ")" * 5000, "is nested too deep"),
    ],
)
def test_what_the_view_has_not_is_told_with_what_it_has(text: str, said: str) -> None:
    with pytest.raises(BadQuery) as caught:
        Query(text)
    assert said in str(caught.value)


def test_native_text_is_read_only_for_queries_that_ask_for_it() -> None:
    assert not Query("kernels[].grid").deep
    assert Query("kernels[].family").deep
    assert Query("stages.mo.text").deep
    assert Query("kernels[?contains(ptx, 'mma')].name").deep


@pytest.mark.parametrize("text", ["abs(workload)", "contains(workload, `5`)", "notes[::0]"])
def test_a_function_or_slice_given_the_wrong_thing_is_told(text: str) -> None:
    with pytest.raises(BadQuery, match="cannot be answered"):
        Query(text).ask({"workload": "bias", "notes": ["one"]})
