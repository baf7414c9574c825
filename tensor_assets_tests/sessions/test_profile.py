from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from tensor_worker.messages import Activity, Trace, Traced

from tensor_assets.errors import AllocationMismatch
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import BenchmarkRecord, Key, Outcome, ProfileRecord, Provenance
from tensor_assets.sessions.allocation import current_allocation
from tensor_assets.sessions.lease import Lease
from tensor_assets.sessions.nsight import CountersMissing, by_kernel, compute_watcher, read_launches
from tensor_assets.sessions.profile import Subject, profile_configuration
from tensor_assets.workers.failure import WorkerFailed
from tensor_assets_tests.sessions.simulated import SimulatedGpu, SimulatedWorker, Truth

SAMPLE = (Path(__file__).parent / "samples" / "ncu.csv").read_text()
NO_PERMISSION = "==PROF== Connected to process 4711\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"
INVOCATION = (
    Activity(kind="kernel", name="scale_rows", grid=(512, 1, 1), block=(256, 1, 1), registers=16, duration_ns=2_000),
    Activity(
        kind="kernel", name="tile_product", grid=(2, 64, 1), block=(384, 1, 1), registers=168, shared_bytes=213_268,
        start_ns=2_500, duration_ns=5_000,
    ),
)  # fmt: skip

KERNELS = ("scale_rows", "tile_product")
# Stands for cuobjdump --dump-sass --function KERNEL FILE: the code that the driver loaded is not what was captured.
LISTED = """
printf '\\n\\tFunction : %s\\n' "$3"
printf '        /*0000*/                   LDC R1, c[0x0][0x28] ;\\n'
printf '        /*0010*/                   HGMMA.64x128x16.F32 R24, gdesc[UR4], R24 ;\\n'
"""
LOADED = {"LDC": 1, "HGMMA.64x128x16.F32": 1}


class Profiled(SimulatedWorker):
    """Traces known activities; under Nsight Compute writes ``csv`` where it was told to."""

    def __init__(self, truth, folder, prefix, variables, csv, activities, loaded):
        super().__init__(truth, 0, folder, 0)
        self.loaded = loaded
        self.prefix, self.variables, self.csv, self.activities = prefix, variables, csv, activities

    def ask(self, request, deadline=None):
        if not isinstance(request, Trace):
            return super().ask(request, deadline)
        if "device" in self.truth.refuses:
            raise WorkerFailed(Outcome(status="unavailable", reason="no device trace: cupti is not there"), alive=True)
        if self.prefix and "ncu" in self.prefix[0]:
            assert self.variables == {"TENSOR_WORKER_WATCHED": "ncu"}
            Path(self.prefix[self.prefix.index("--log-file") + 1]).write_text(self.csv)
            return Traced(invocations=())
        folder = self.variables["TENSOR_WORKER_MODULES"]
        modules = {one.name: f"{folder}/module.cubin" for one in self.activities if one.name in self.loaded}
        return Traced(invocations=(self.activities,) * request.invocations, modules=modules)


@pytest.fixture
def look(program, fixtures, tmp_path, monkeypatch):
    """Profiles a simulated configuration; ``ncu`` is on the path unless ``csv`` is None."""
    tools = tmp_path / "bin"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))

    def look(
        truth=None,
        csv=SAMPLE,
        allocation=None,
        outcome="ok",
        sass=None,
        activities=INVOCATION,
        loaded=KERNELS,
        disassembler=LISTED,
    ):
        if csv is not None:
            _tool(tools / "ncu", "")
        if disassembler is not None:
            _tool(tools / "cuobjdump", disassembler)

        @contextmanager
        def start(folder, prefix, variables):
            yield Profiled(truth or Truth(), folder, prefix, variables, csv, activities, loaded)

        benchmark = BenchmarkRecord(
            key=Key(workload="weight_view", shape="matrix_inspect", compiler="tvm", variant="default", target="cuda"),
            outcome=Outcome(status=outcome, reason="" if outcome == "ok" else "it hung"),
            provenance=Provenance(created="2026-01-01T00:00:00Z"),
            session="session",
            allocation=allocation or current_allocation("cuda", gpu=SimulatedGpu()),
            fingerprint="code",
        )
        return profile_configuration(
            Subject(program, fixtures, "benchmark", benchmark, start, sass or {}),
            target="cuda",
            keeper=EvidenceStore(tmp_path / "store"),
            lease=Lease(tmp_path / "lease"),
            gpu=SimulatedGpu(),
        )

    return look


def test_counters_are_medians_over_launches_in_base_units():
    found = by_kernel(read_launches(SAMPLE))
    assert set(found) == {"scale_rows", "tile_product"}
    product = found["tile_product"]
    assert product["gpu__time_duration.sum"] == 5200
    assert product["dram__bytes.sum"] == 5242882
    assert product["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"] == 61.75
    assert "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active" not in found["scale_rows"]  # n/a


def test_what_nsight_prints_as_no_number_is_no_counter(look):
    text = SAMPLE.replace('"61.25"', '"nan"').replace('"62.25"', '"-inf"')
    assert (
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
        not in by_kernel(read_launches(text))["tile_product"]
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (NO_PERMISSION, "may not read the GPU's performance counters"),
        ("==ERROR== The application returned an error code (11).\n", "The application returned an error code"),
        ("==PROF== Connected\n==WARNING== No kernels were profiled.\n", "saw no kernel"),
        ("", "saw no kernel"),
    ],
)
def test_counters_that_are_not_there_say_why(text, reason):
    with pytest.raises(CountersMissing, match=reason):
        by_kernel(read_launches(text))


def test_nsight_compute_leaves_clocks_alone_and_is_bounded(look, tmp_path):
    look()
    watcher = compute_watcher(tmp_path)
    options = dict(zip(watcher.prefix[1::1], watcher.prefix[2::1], strict=False))
    assert options["--clock-control"] == options["--cache-control"] == "none"
    assert options["--profile-from-start"] == "off"
    assert int(options["--launch-count"]) <= 40


def test_a_profile_joins_timeline_counters_and_roofline_of_one_implementation(look):
    record = look(
        sass={"matmul.sass": "        /*0000*/                   HGMMA.64x64x16.F32 R24, gdesc[UR4], R24 ;\n"}
    )
    assert record.outcome.status == "ok"
    assert len(record.timeline) == 10
    assert (record.busy_ns, record.span_ns) == (7_000, 7_500)
    scale, product = record.kernels
    assert product.gap_ns == 500
    assert product.occupancy == 12 / 64
    assert product.operations == 1_610_612_736
    assert {roof.level for roof in product.roofs} == {"L2", "HBM"}
    assert scale.operations == 2 * 524_288
    assert record.opcodes == {"matmul.sass": {"HGMMA.64x64x16.F32": 1}, "scale_rows": LOADED, "tile_product": LOADED}
    assert "HBM" in record.ceilings
    assert set(record.missing) == {"nsight systems"}
    assert [file.private for file in record.files] == [True]
    assert msgspec.json.decode(msgspec.json.encode(record), type=ProfileRecord) == record


def test_a_kernel_that_comes_twice_has_the_counters_of_each_place(look):
    """The library's product of two sizes under one name: neither place has the other's work, nor the mean of both."""
    small, large = 1_000_000, 1_610_612_736
    text = SAMPLE.replace("scale_rows", "tile_product").replace('"524,288"', f'"{small // 2}"')
    record = look(csv=text, activities=(msgspec.structs.replace(INVOCATION[0], name="tile_product"), INVOCATION[1]))
    assert [kernel.operations for kernel in record.kernels] == [small, large]


def test_a_kernel_that_comes_twice_has_no_counters_where_launches_do_not_repeat_the_invocation(look):
    twice = (*INVOCATION, msgspec.structs.replace(INVOCATION[1], start_ns=8_000))
    record = look(activities=twice)
    assert [kernel.operations for kernel in record.kernels] == [2 * 524_288, None, None]
    assert record.missing["roofline"] == "not counted: tile_product"


def test_a_trace_that_saw_nothing_is_no_timeline(look):
    record = look(activities=(), csv=NO_PERMISSION)
    assert (record.outcome.status, record.timeline, record.busy_ns, record.span_ns) == ("unavailable", (), None, None)
    assert "CUPTI recorded no activity in 10 invocations" in record.outcome.reason


def test_another_implementation_is_never_attached(look):
    record = look(Truth(fingerprints=("another",)))
    assert (record.timeline, record.counters, record.kernels) == ((), {}, ())
    assert "another was measured, code was asked for" in record.missing["timeline"]
    assert "another was measured" in record.missing["counters"]
    assert record.outcome.status == "unavailable"


def test_no_permission_is_named_with_its_remedy_and_the_timeline_stays(look):
    record = look(csv=NO_PERMISSION)
    assert record.outcome.status == "ok"
    assert "performance counters" in record.missing["counters"]
    assert "timeline" in record.missing["roofline"]
    assert len(record.timeline) == 10


def test_no_profiler_at_all_is_unavailable_and_says_which(look):
    record = look(Truth(refuses=("device",)), csv=None)
    assert record.outcome.status == "unavailable"
    assert "cupti is not there" in record.outcome.reason
    assert "ncu" in record.outcome.reason


def test_an_allocation_other_than_the_timed_one_is_refused(look):
    with pytest.raises(AllocationMismatch, match="different allocations"):
        look(allocation=current_allocation("cpu"))


def test_a_configuration_without_a_benchmark_is_blocked(look):
    record = look(outcome="censored")
    assert record.outcome.status == "blocked"
    assert record.outcome.reason == "its benchmark was censored: it hung"


def test_a_kernel_that_nsight_did_not_count_is_named(look):
    record = look(csv=SAMPLE.replace("scale_rows", "other_kernel"))
    assert record.missing["roofline"] == "not counted: scale_rows"
    assert record.kernels[1].roofs


CAPTURED = """
.text.tile_product:
        /*0000*/                   HGMMA.64x64x16.F32 R24, gdesc[UR4], R24 ;
"""


def test_opcodes_are_those_of_what_the_driver_loaded(look):
    record = look(sass={"machine 0": CAPTURED})
    assert record.opcodes == {"scale_rows": LOADED, "tile_product": LOADED}
    assert record.loaded == KERNELS
    assert not {"loaded code", "machine code"} & set(record.missing)


def test_a_kernel_whose_module_was_not_seen_keeps_its_captured_opcodes(look):
    record = look(sass={"machine 0": CAPTURED}, loaded=("scale_rows",))
    assert record.opcodes["tile_product"] == {"HGMMA.64x64x16.F32": 1}
    assert record.loaded == ("scale_rows",)
    assert record.missing["loaded code"] == "no single module was seen to be loaded for tile_product"


def test_without_any_captured_code_what_was_loaded_is_there(look):
    assert "machine code" not in look().missing
    assert look(loaded=()).missing["machine code"] == "the capture holds no SASS"


@pytest.mark.parametrize(
    ("disassembler", "reason"),
    [
        (None, "cuobjdump is not installed"),
        ("echo no such function >&2; exit 1", "cuobjdump found no code of scale_rows: no such function"),
        ("exit 0", "cuobjdump found no code of scale_rows: nothing"),
    ],
)
def test_loaded_code_that_cannot_be_read_says_why_and_the_timeline_stays(look, disassembler, reason):
    record = look(sass={"machine 0": CAPTURED}, disassembler=disassembler)
    assert (record.missing["loaded code"], record.loaded) == (reason, ())
    assert record.opcodes == {"tile_product": {"HGMMA.64x64x16.F32": 1}}
    assert len(record.timeline) == 10


def _tool(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
