"""The worker's loop: one reply for every request, until ``shutdown`` or the end of stdin."""

from __future__ import annotations

import sys
import time
import traceback
from pathlib import Path

import msgspec

from tensor_worker.adapter import Adapter, Implementation, Unavailable, Unsupported
from tensor_worker.arrays import load_arrays, save_arrays
from tensor_worker.channel import Channel, NotARequest
from tensor_worker.fingerprint import fingerprint
from tensor_worker.loaded import watch_modules, write_modules
from tensor_worker.loading import load_adapter
from tensor_worker.messages import (
    PROTOCOL,
    Bye,
    Compile,
    Compiled,
    Failed,
    GetPlan,
    GetStages,
    Greeting,
    Hello,
    PlanReply,
    Ran,
    Reply,
    Request,
    Run,
    Shutdown,
    Stages,
    Time,
    Trace,
    Traced,
)
from tensor_worker.timing import time_invocations
from tensor_worker.tracing import trace_invocations

# Raised before anything is sent, by what an adapter put into its reply.
_NO_JSON = (TypeError, ValueError, OverflowError, msgspec.MsgspecError)


def serve(folder: Path, channel: Channel) -> None:
    """Answer requests for the adapter in ``folder``; returns after ``shutdown``."""
    session = Session(folder)
    while True:
        try:
            request = channel.receive()
        except NotARequest as error:
            channel.send(Failed(status="crashed", reason=str(error)))
            continue
        reply = session.answer(request)
        try:
            channel.send(reply)
        except _NO_JSON as error:
            traceback.print_exc(file=sys.stderr)
            channel.send(failure(error))
        if isinstance(request, Shutdown):
            return


class Session:
    """What a worker holds between requests: the adapter and, once compiled, the implementation."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._adapter: Adapter | None = None
        self._implementation: Implementation | None = None

    def answer(self, request: Request) -> Reply:
        # SystemExit and KeyboardInterrupt too: an adapter that leaves in the middle of a request has crashed.
        try:
            return self._answer(request)
        except BaseException as error:
            traceback.print_exc(file=sys.stderr)
            return failure(error)

    def _answer(self, request: Request) -> Reply:
        match request:
            case Hello():
                return self._greet(request)
            case Compile():
                return self._compile(request)
            case Run():
                return self._run(request)
            case GetStages():
                return Stages(capture=self._compiled(request).capture())
            case GetPlan():
                plan = self._compiled(request).plan()
                return PlanReply(plan=plan, fingerprint=fingerprint(plan))
            case Time():
                return time_invocations(self._compiled(request), request)
            case Trace():
                return self._trace(request)
            case Shutdown():
                return Bye()

    def _greet(self, request: Hello) -> Greeting:
        if request.protocol != PROTOCOL:
            raise RuntimeError(f"asked for protocol {request.protocol}, this worker speaks {PROTOCOL}")
        return self._loaded().greeting()

    def _compile(self, request: Compile) -> Compiled:
        started = time.perf_counter()
        inputs = load_arrays(request.inputs)
        watch_modules()
        self._require_rebuilds(request)
        implementation = self._loaded().compile(request, inputs, Path(request.dump_dir))
        if request.target == "cpu":
            implementation.device = "cpu"  # whatever the compiler calls its host device
        self._implementation = implementation
        phases = dict(implementation.phases) or {"compile": time.perf_counter() - started}
        return Compiled(phases=phases, device=implementation.device)

    def _trace(self, request: Trace) -> Traced:
        traced = trace_invocations(self._compiled(request), request.invocations)
        kernels = {one.name for invocation in traced.invocations for one in invocation if one.kind == "kernel"}
        return msgspec.structs.replace(traced, modules=write_modules(kernels))

    def _run(self, request: Run) -> Ran:
        implementation = self._compiled(request)
        inputs = load_arrays(request.inputs)
        before = {name: array.tobytes() for name, array in inputs.items()}
        implementation.upload(inputs)
        seconds = [_invoke(implementation) for _ in range(request.invocations)]
        save_arrays(request.outputs, implementation.outputs())
        changed = tuple(name for name, array in inputs.items() if array.tobytes() != before[name])
        return Ran(outputs=request.outputs, seconds=seconds[0], changed=changed)

    def _require_rebuilds(self, request: Compile) -> None:
        """An adapter that knows nothing of candidates must not pass its own choice off as the one it was given."""
        if request.candidate is None:
            return
        variants = self._loaded().greeting().variants
        if not any(variant.name == request.variant and variant.rebuilds for variant in variants):
            raise Unsupported(f"{self._loaded().name} cannot build a given candidate of {request.variant!r} again")

    def _loaded(self) -> Adapter:
        if self._adapter is None:
            self._adapter = load_adapter(self._folder)
        return self._adapter

    def _compiled(self, request: Request) -> Implementation:
        if self._implementation is None:
            raise RuntimeError(f"{request.__struct_config__.tag} was asked before anything was compiled")
        return self._implementation


def _invoke(implementation: Implementation) -> float:
    """Seconds of one invocation and its wait."""
    started = time.perf_counter()
    implementation.invoke()
    implementation.wait()
    return time.perf_counter() - started


def failure(error: BaseException) -> Failed:
    """Only the adapter's own classes mean unsupported or unavailable; anything else has crashed."""
    reason = " ".join(str(error).split()) or type(error).__name__
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, Unsupported):
        return Failed(status="unsupported", reason=reason, traceback=trace)
    if isinstance(error, Unavailable):
        return Failed(status="unavailable", reason=reason, remedy=error.remedy, traceback=trace)
    return Failed(status="crashed", reason=f"{type(error).__name__}: {reason}", traceback=trace)
