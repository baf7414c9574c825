"""Whatever a worker does, its outcome has the right name and nothing of it survives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest
from tensor_worker.arrays import load_arrays, save_arrays
from tensor_worker.messages import GetPlan, GetStages, Hello, Run, Time

from tensor_assets.progress import listening
from tensor_assets.workers import process
from tensor_assets.workers.failure import WorkerFailed
from tensor_assets.workers.log import HEAD_BYTES, TAIL_BYTES
from tensor_assets.workers.process import TOKEN, left_behind, processes_of
from tensor_assets_tests.workers.programs import inputs, projection


def outcome_of(start, compile_request, variant, **options):
    """The outcome of one misbehaviour, after making sure that no process carries the worker's token any more."""
    with start("broken", **options) as worker:
        worker.ask(Hello())
        with pytest.raises(WorkerFailed) as failed:
            worker.ask(compile_request(variant))
    assert processes_of(worker._token) == []
    return failed.value


def test_a_worker_answers_every_request_and_leaves_nothing(start, compile_request, folder):
    save_arrays(folder.arrays / "one.npz", arrays := inputs(1))
    with start() as worker:
        assert worker.ask(Hello()).compiler == "numpy_reference"
        assert worker.ask(compile_request()).device == "cpu"
        ran = worker.ask(Run(inputs=str(folder.arrays / "one.npz"), outputs=str(folder.arrays / "out.npz")))
        assert [stage.name for stage in worker.ask(GetStages()).capture.stages] == ["program"]
        assert len(worker.ask(GetPlan()).fingerprint) == 64
        assert worker.ask(Time(invocations=3, warmup=1)).elapsed_ns > 0
        assert psutil.Process(worker.pid).cmdline()[1:3] == ["-m", "tensor_worker"]
    expected = projection(arrays).astype("float16") + arrays["b"]
    assert (load_arrays(ran.outputs)["y"] == expected).all()
    assert not psutil.pid_exists(worker.pid)
    assert processes_of(worker._token) == []


def test_what_compilers_print_is_log_and_not_protocol(start, compile_request, folder):
    with start() as worker:
        worker.ask(compile_request())
    assert "the protocol must survive it" in folder.log.read_text()


@pytest.mark.parametrize(
    ("variant", "says"),
    [
        ("segfault", "SIGSEGV while answering compile"),
        ("abort", "SIGABRT while answering compile"),
        ("kill_itself", "SIGKILL while answering compile"),
        ("leave", "exited with status 7 while answering compile"),
        ("leave_a_child_behind", "SIGSEGV while answering compile"),
    ],
)
def test_a_worker_that_dies_has_crashed(start, compile_request, variant, says):
    failure = outcome_of(start, compile_request, variant)
    assert failure.outcome.status == "crashed"
    assert says in failure.outcome.reason
    assert not failure.alive


@pytest.mark.parametrize("variant", ["hang", "hang_in_native_code", "ignore_terminate", "leave_children_and_hang"])
def test_a_worker_that_hangs_is_censored_at_its_deadline(start, compile_request, variant):
    started = time.monotonic()
    failure = outcome_of(start, compile_request, variant, deadline=1.5)
    assert failure.outcome.status == "censored"
    assert failure.outcome.reason == "no answer to compile within 1.5 s"
    assert time.monotonic() - started < 60  # the worker itself would never answer


def test_the_lifetime_bounds_all_requests_together(start, compile_request):
    with start("broken", lifetime=1.5) as worker:
        worker.ask(Hello(), deadline=60)
        with pytest.raises(WorkerFailed) as failed:
            worker.ask(compile_request("hang"), deadline=60)
    assert failed.value.outcome.status == "censored"
    assert "1.5 s" in failed.value.outcome.reason


@pytest.mark.parametrize(
    ("variant", "status", "reason"),
    [
        ("express_it_not", "unsupported", "this compiler has no rsqrt"),
        ("miss_a_tool", "unavailable", "g++ is not installed"),
        ("raise_an_error", "crashed", "ValueError: a tile of 3 does not divide 8"),
        ("exit_politely", "crashed", "SystemExit: no thank you"),
    ],
)
def test_what_the_worker_says_itself_is_taken_at_its_word_and_it_lives_on(
    start, compile_request, variant, status, reason
):
    with start("broken") as worker:
        with pytest.raises(WorkerFailed) as failed:
            worker.ask(compile_request(variant))
        assert (failed.value.outcome.status, failed.value.outcome.reason) == (status, reason)
        assert failed.value.alive
        assert worker.ask(Hello()).compiler == "broken"
    assert failed.value.outcome.remedy == ("apt-get install -y g++" if status == "unavailable" else "")


def test_after_a_crash_every_further_request_tells_of_the_same_crash(start, compile_request):
    with start("broken") as worker:
        with pytest.raises(WorkerFailed) as first:
            worker.ask(compile_request("segfault"))
        with pytest.raises(WorkerFailed) as second:
            worker.ask(GetPlan())
    assert first.value is second.value


def test_a_flooded_log_is_bounded_and_keeps_both_ends(start, compile_request, folder):
    failure = outcome_of(start, compile_request, "flood_the_log")
    log = folder.log.read_bytes()
    assert failure.outcome.status == "crashed"
    assert HEAD_BYTES < len(log) < HEAD_BYTES + 2 * TAIL_BYTES
    assert log.startswith(b"about to flood_the_log")
    assert b"bytes of the log dropped here" in log
    assert b"the last words" in log[-TAIL_BYTES:]


def script(body: str) -> list[str]:
    """A worker that is no kit of ours: reads one request, then does ``body``."""
    return [sys.executable, "-c", "import os, sys, time\nsys.stdin.readline()\n" + textwrap.dedent(body)]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("print('hello there', flush=True); time.sleep(60)", "what is no reply"),
        ("os.write(1, bytes(range(256)) + b'\\n'); time.sleep(60)", "what is no reply"),
        ('print(\'{"type": "gossip"}\', flush=True); time.sleep(60)', "what is no reply"),
        ('print(\'{"type": "bye", "and": 1}\', flush=True); time.sleep(60)', "what is no reply"),
        ("print('[' * 100000, flush=True); time.sleep(60)", "what is no reply"),
        ('print(\'{"type": "bye"}\', flush=True); time.sleep(60)', "with Bye, not Greeting"),
        ('os.write(1, b\'{"type": "he\')', "exited with status 0"),
        ("os.close(1); time.sleep(60)", "closed its output"),
        ("os.kill(os.getpid(), 40)", "died of signal 40"),  # real-time signals have no names
    ],
)
def test_a_worker_that_does_not_keep_the_protocol_has_crashed(start, body, says):
    with start(command=script(body)) as worker, pytest.raises(WorkerFailed) as failed:
        worker.ask(Hello(), deadline=10)
    assert failed.value.outcome.status == "crashed"
    assert says in failed.value.outcome.reason
    assert processes_of(worker._token) == []


def test_a_step_that_a_worker_announces_is_one_line_that_no_terminal_acts_on(start):
    step = "reading\\n\\u001b[2J[/packages]"
    body = f'print(\'{{"type": "progress", "step": "{step}"}}\', flush=True)'.replace("\\", "\\\\")
    steps: list[str] = []
    with start(command=script(body)) as worker, listening(steps.append), pytest.raises(WorkerFailed):
        worker.ask(Hello(), deadline=60)
    assert steps == ["numpy_reference: reading \\x1b[2J[/packages]"]


@pytest.mark.parametrize(
    "body",
    [
        "while True: os.write(1, b'x' * 65536)",
        'while True: os.write(1, b\'{"type": "progress", "step": "still there"}\\n\' * 1000)',
    ],
)
def test_a_flood_on_stdout_ends_at_its_bound(start, body, monkeypatch):
    monkeypatch.setattr(process, "REPLY_BYTES", 4 << 20)
    with start(command=script(body)) as worker, pytest.raises(WorkerFailed) as failed:
        worker.ask(Hello(), deadline=60)
    assert failed.value.outcome.status == "crashed"
    assert "more than 4 MiB" in failed.value.outcome.reason


def test_a_worker_that_never_reads_is_censored(start, compile_request):
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with start(command=command) as worker, pytest.raises(WorkerFailed) as failed:
        worker.ask(compile_request("x" * (1 << 20)), deadline=1)
    assert failed.value.outcome.status == "censored"


def test_another_protocol_version_is_refused_by_the_kit(start):
    with start() as worker, pytest.raises(WorkerFailed, match="asked for protocol 99"):
        worker.ask(Hello(protocol=99))


def test_a_command_that_cannot_start_has_crashed_with_its_name(start):
    with (
        start(command=["/nowhere/python"]) as worker,
        pytest.raises(WorkerFailed, match="cannot start /nowhere/python"),
    ):
        worker.ask(Hello())


def test_an_exception_in_the_orchestrator_ends_the_worker(start, compile_request):
    worker = start()
    with pytest.raises(KeyboardInterrupt):
        interrupted(worker, compile_request())
    assert processes_of(worker._token) == []


def interrupted(worker, request):
    with worker:
        worker.ask(request)
        raise KeyboardInterrupt


ORCHESTRATOR = """
import os, sys
sys.path[:0] = {path!r}
from pathlib import Path
from tensor_assets.workers.adapters import KIT
from tensor_assets.workers.isolation import WorkerFolder, worker_variables
from tensor_assets.workers.process import Worker
from tensor_worker.messages import Compile, Hello
import msgspec
folder = WorkerFolder(Path({folder!r}))
command = [sys.executable, "-m", "tensor_worker", {adapter!r}]
worker = Worker(command, worker_variables(folder, KIT, {{}}), folder.log, cwd=folder.path)
with worker:
    worker.ask(Hello())
    print(worker._token, worker.pid, flush=True)
    worker.ask(msgspec.json.decode({request!r}, type=Compile))
"""


@pytest.mark.parametrize("variant", ["hang_in_native_code", "leave_children_and_hang"])
def test_a_killed_orchestrator_takes_its_compiling_worker_along(folder, compile_request, variant):
    import msgspec

    adapter = str(Path(__file__).parent / "adapters" / "broken")
    request = msgspec.json.encode(compile_request(variant)).decode()
    code = ORCHESTRATOR.format(path=sys.path, folder=str(folder.path), adapter=adapter, request=request)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as orchestrator:
        token, pid = orchestrator.stdout.readline().split()
        wait_until(lambda: "about to" in folder.log.read_text())
        assert int(pid) in [found.pid for found in processes_of(token)]
        orchestrator.kill()
    wait_until(lambda: processes_of(token) == [])


def test_a_killed_supervisor_leaves_no_worker_either(start, compile_request):
    with start("broken") as worker:
        worker.ask(Hello())
        os.kill(worker._process.pid, signal.SIGKILL)
        with pytest.raises(WorkerFailed) as failed:
            worker.ask(compile_request("leave_children_and_hang"), deadline=2)
    assert failed.value.outcome.status in ("crashed", "censored")
    assert processes_of(worker._token) == []


def test_what_is_left_behind_is_ours_and_nobody_elses(start):
    with start() as worker:
        worker.ask(Hello())
        assert worker.pid in {process.pid for process in left_behind()}
        with subprocess.Popen(["sleep", "60"], env={TOKEN: "another campaign's"}) as other:
            assert other.pid not in {process.pid for process in left_behind()}
            other.kill()
    assert left_behind() == []


def test_a_worker_sees_only_the_allow_listed_environment(start, monkeypatch, folder):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/warm")
    with start() as worker:
        worker.ask(Hello())  # until it answers, its process may still be the one that it was forked from
        seen = psutil.Process(worker.pid).environ()
    assert "AWS_SECRET_ACCESS_KEY" not in seen
    assert Path(seen["XDG_CACHE_HOME"]).is_relative_to(folder.cache)
    assert Path(seen["HOME"]).is_relative_to(folder.path)
    assert seen[TOKEN] == worker._token


def wait_until(holds, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
