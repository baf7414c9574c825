import os
from collections import Counter

import msgspec
import pytest
from tensor_worker.messages import Compile, Run, Time

from tensor_assets.errors import DeviceRefused, SettingsError
from tensor_assets.records import SessionRecord
from tensor_assets.sessions.lease import Lease
from tensor_assets.sessions.method import CPU, GPU, Axis
from tensor_assets.sessions.session import run_session
from tensor_assets_tests.sessions.simulated import Simulated, SimulatedGpu, Truth

pytestmark = pytest.mark.usefixtures("in_order")

HOST = msgspec.structs.replace(GPU, name="host", axes=(Axis("host"),))
CLOCKS = msgspec.structs.replace(
    GPU, name="clocks", axes=(Axis("host"), Axis("host", data="zeros"), Axis("graph"), Axis("device"))
)


@pytest.fixture
def run(program, fixtures, tmp_path):
    def run(simulated, truths, method=HOST, gpu=None, **options):
        contenders = [simulated.contender(compiler, truth) for compiler, truth in truths.items()]
        return run_session(
            program,
            fixtures,
            contenders,
            target="cuda",
            method=method,
            lease=Lease(tmp_path / "lease"),
            gpu=gpu or SimulatedGpu(),
            **options,
        )

    return run


def of(record, compiler):
    return [process for process in record.processes if process.compiler == compiler]


def blocks_of(record, compiler, clock="host"):
    indices = {process.index for process in of(record, compiler)}
    return [block for block in record.blocks if block.process in indices and block.clock == clock]


def test_every_process_of_every_configuration_is_timed_in_balanced_rounds(run):
    record = run(Simulated(), {"tinygrad": Truth(), "tvm": Truth(), "eager": Truth()}, seed=7)
    assert record.outcome.status == "ok"
    assert len(record.processes) == 9
    assert Counter(block.process for block in record.blocks) == dict.fromkeys(range(9), 15)
    assert all(block.invocations == 200 and not block.invalid for block in record.blocks)
    for process in range(9):
        places = Counter(block.position for block in record.blocks if block.process == process)
        assert max(places.values()) <= 2
    assert record.seed == 7
    assert record.method["hash"] == record.key.method == HOST.hash
    assert record.allocation.device == "NVIDIA H200"
    assert record.allocation.simulated
    assert set(record.provenance.seconds) == {"compile", "wait", "timing", "recheck", "tracing", "teardown"}


def test_the_order_follows_the_seed(run):
    def order(seed):
        return [block.process for block in run(Simulated(), {"a": Truth(), "b": Truth()}, seed=seed).blocks]

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_main_threads_share_one_core_while_timed(run):
    seen = set()
    simulated = Simulated()

    def look(request):
        if isinstance(request, Time):
            workers = [worker for started in simulated.workers.values() for worker in started]
            seen.add(frozenset(core for worker in workers for core in os.sched_getaffinity(worker.pid)))

    record = run(simulated, {"a": Truth(on_ask=look), "b": Truth()})
    (cores,) = seen
    assert {process.core for process in record.processes} == cores
    assert len(cores) == 1
    assert all(process.threads == 1 for process in record.processes)


def test_the_lease_is_shared_while_compiling_and_exclusive_while_timing(run, tmp_path):
    seen = set()

    def look(request):
        seen.update((type(request), holder.mode) for holder in Lease(tmp_path / "lease").holders())

    run(Simulated(), {"a": Truth(on_ask=look)})
    assert (Compile, "shared") in seen
    assert {mode for kind, mode in seen if kind is Time} == {"exclusive"}
    assert Lease(tmp_path / "lease").holders() == ()


def test_switch_warmups_precede_every_block(run):
    simulated = Simulated()
    run(simulated, {"a": Truth()})
    requests = [request for request in simulated.workers["a/default"][0].requests if isinstance(request, Time)]
    assert [(request.invocations, request.warmup) for request in requests[:5]] == [
        (1, 0),
        (9, 0),
        (1, 0),
        (1, 0),
        (1, 0),
    ]
    assert all((request.invocations, request.warmup) == (200, 5) for request in requests[5:])


def test_clocks_and_data_are_axes_of_their_own(run):
    simulated = Simulated()
    record = run(simulated, {"a": Truth(), "b": Truth()}, CLOCKS)
    counts = Counter((block.clock, block.data) for block in record.blocks)
    assert counts == {("host", "random"): 90, ("host", "zeros"): 90, ("graph", "random"): 90, ("device", "random"): 30}
    uploads = [r.inputs.rpartition("/")[2] for r in simulated.workers["a/default"][0].requests if isinstance(r, Run)]
    assert uploads == ["random.npz", "zeros.npz", "random.npz", "check.npz", "random.npz"]


def test_outputs_are_checked_on_values_that_were_not_timed(run):
    record = run(Simulated(), {"right": Truth(), "stale": Truth(forgets=True)})
    assert all(process.recheck for process in of(record, "right"))
    assert all(process.recheck is False for process in of(record, "stale"))
    assert {process.outcome.status for process in of(record, "stale")} == {"rejected"}
    assert "wrong after timing" in of(record, "stale")[0].outcome.reason


def test_a_session_in_which_nobody_was_right_afterwards_is_not_ok(run):
    record = run(Simulated(), {"stale": Truth(forgets=True)})
    assert record.outcome.status == "rejected"
    assert "wrong after timing" in record.outcome.reason
    assert len(record.blocks) == 45, "every sample is kept"


def test_a_worker_that_dies_ends_alone(run):
    record = run(Simulated(), {"a": Truth(), "mortal": Truth(dies_at=9)})
    assert [process.outcome.status for process in of(record, "mortal")] == ["crashed", "ok", "ok"]
    assert "SIGSEGV" in of(record, "mortal")[0].outcome.reason
    assert len(blocks_of(record, "a")) == 45
    assert len(blocks_of(record, "mortal")) == 30 + 4
    assert record.outcome.status == "ok"


def test_a_configuration_that_cannot_be_built_leaves_the_others_alone(run):
    record = run(Simulated(), {"a": Truth(), "broken": Truth(fails_to_compile="tensorize segfaults")})
    assert {process.outcome.status for process in of(record, "broken")} == {"crashed"}
    assert blocks_of(record, "broken") == []
    assert len(blocks_of(record, "a")) == 45


def test_when_nothing_can_be_timed_the_session_says_why(run):
    record = run(Simulated(), {"broken": Truth(fails_to_compile="tensorize segfaults")})
    assert record.outcome.status == "crashed"
    assert record.outcome.reason == "none of 3 processes could be timed; 3 crashed: tensorize segfaults"


def test_a_refused_clock_is_a_result_and_the_others_go_on(run):
    record = run(Simulated(), {"a": Truth(refuses=("graph",))}, CLOCKS)
    assert {process.outcome.status for process in record.processes} == {"ok"}
    assert record.processes[0].refused == {"graph/warm/random": "no device graph can be captured"}
    assert blocks_of(record, "a", "graph") == []
    assert len(blocks_of(record, "a", "device")) == 15


def test_a_compilation_while_timing_spoils_its_block_only(run):
    record = run(Simulated(), {"a": Truth(compiles_at=8)})
    assert Counter(block.invalid for block in record.blocks) == {"": 42, "1 compilations meanwhile": 3}


def test_a_time_beyond_the_device_is_invalid(run):
    record = run(Simulated(), {"a": Truth(ns={"host": 0.01})})
    assert all("beyond the device's limit" in block.invalid for block in record.blocks)
    assert record.outcome.status == "rejected"


def test_blocks_of_a_throttled_device_do_not_count(run):
    record = run(Simulated(), {"a": Truth()}, gpu=SimulatedGpu(("power cap", "hardware thermal slowdown")))
    assert {block.invalid for block in record.blocks} == {"throttled: hardware thermal slowdown"}
    capped = run(Simulated(), {"a": Truth()}, gpu=SimulatedGpu(("power cap",)))
    assert {block.invalid for block in capped.blocks} == {""}
    assert capped.blocks[0].device.throttle == ("power cap",)


def test_another_implementation_than_the_captured_one_is_recorded_as_such(run):
    record = run(Simulated(), {"searched": Truth(fingerprints=("first", "second", "first"))})
    assert [process.fingerprint for process in record.processes] == ["first", "second", "first"]
    assert {process.captured for process in record.processes} == {"first"}


def test_a_fresh_search_is_alone_on_the_host_and_numbered_after_the_others(program, fixtures, tmp_path):
    seen = set()

    def look(request):
        if isinstance(request, Compile):
            seen.update(holder.mode for holder in Lease(tmp_path / "lease").holders())

    simulated = Simulated()
    cached = simulated.contender("tinygrad", Truth(), "tuned")._replace(cache="snapshot")
    searched = simulated.contender("tinygrad", Truth(fingerprints=("found",), on_ask=look), "tuned")
    fresh = searched._replace(searches=True, processes=2, fingerprint="code")
    lease, gpu = Lease(tmp_path / "lease"), SimulatedGpu()
    record = run_session(program, fixtures, [cached, fresh], target="cuda", method=HOST, lease=lease, gpu=gpu)
    assert seen == {"exclusive"}
    assert Counter(process.cache for process in record.processes) == {"snapshot": 3, "": 2}
    assert sorted(process.replicate for process in record.processes) == [0, 1, 2, 3, 4]
    assert {process.captured for process in record.processes} == {"code"}
    assert "search" in record.provenance.seconds


def test_an_interrupt_while_compiling_ends_every_worker(run):
    simulated = Simulated()

    def interrupt(request):
        if isinstance(request, Compile):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(simulated, {"a": Truth(), "b": Truth(on_ask=interrupt)})
    workers = [worker for started in simulated.workers.values() for worker in started]
    assert workers
    assert not any(os.path.exists(f"/proc/{worker.pid}") for worker in workers)  # noqa: PTH110


def test_a_long_invocation_gets_fewer_blocks(run):
    record = run(Simulated(), {"slow": Truth(ns={"host": 1.5e9}), "fast": Truth()}, CPU)
    counts = Counter(block.process for block in record.blocks)
    assert {counts[process.index] for process in of(record, "slow")} <= {8, 9}
    assert {counts[process.index] for process in of(record, "fast")} == {15}
    rounds = sorted(block.round for block in blocks_of(record, "slow") if block.process == of(record, "slow")[0].index)
    assert rounds[0] <= 1
    assert rounds[-1] >= 13


def test_what_a_killed_session_left_is_cleared_by_the_next_and_it_leaves_nothing(run, tmp_path):
    left = tmp_path / "cache" / "scratch" / "session-killed"
    left.mkdir(parents=True)
    (left / ".owner").touch()
    folders = []
    run(Simulated(), {"a": Truth(on_ask=lambda request: folders.append(request))})
    assert not left.exists()
    uploaded = next(request.inputs for request in folders if isinstance(request, Run))
    assert uploaded.startswith(str(tmp_path / "cache" / "scratch" / "session-"))
    assert [path.name for path in (tmp_path / "cache" / "scratch").iterdir()] == [".owner"]


def test_without_configurations_the_session_is_blocked(run):
    record = run(Simulated(), {})
    assert record.outcome.status == "blocked"
    assert record.processes == ()


def test_the_record_survives_the_store(run):
    record = run(Simulated(), {"a": Truth()}, CLOCKS)
    assert msgspec.json.decode(msgspec.json.encode(record), type=SessionRecord) == record


def test_a_session_without_a_check_fixture_is_refused(program, fixtures):
    with pytest.raises(SettingsError, match="search"):
        run_session(program, fixtures[:1], [Simulated().contender("a", Truth())], target="cpu")


def test_code_for_another_machine_is_never_timed(program, fixtures):
    with pytest.raises(DeviceRefused, match="never run"):
        run_session(program, fixtures, [], target="sm_90")
