"""The watch over loaded modules, against a stand-in for CUPTI that calls back as the driver does."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tensor_worker import loaded

RESOURCE, MODULE_LOADED, MODULE_UNLOAD_STARTING = 3, 6, 7


class CuptiError(Exception):
    pass


class Cupti:
    cuptiError = CuptiError
    CallbackDomain = SimpleNamespace(RESOURCE=RESOURCE)
    CallbackIdResource = SimpleNamespace(MODULE_LOADED=MODULE_LOADED, MODULE_UNLOAD_STARTING=MODULE_UNLOAD_STARTING)

    def __init__(self) -> None:
        self.refuses = ""
        self.enabled: list[tuple[int, ...]] = []

    def subscribe(self, callback, userdata) -> int:
        if self.refuses:
            raise CuptiError(self.refuses)
        self.callback, self.userdata = callback, userdata
        return 17

    def enable_callback(self, enable, subscriber, domain, callback) -> None:
        self.enabled.append((enable, subscriber, domain, callback))

    def load(self, module: bytes, callback: int = MODULE_LOADED) -> None:
        """The binary is the driver's own: it is gone after the call."""
        binary = ctypes.create_string_buffer(module, len(module))
        described = loaded._ModuleResourceData(1, len(module), ctypes.addressof(binary))
        data = SimpleNamespace(resource_descriptor=ctypes.addressof(described))
        self.callback(self.userdata, RESOURCE, callback, data)
        ctypes.memset(binary, 0xFF, len(module))


def module(*kernels: str, code: bytes = b"\x01\x00\x02") -> bytes:
    return b"\x7fELF\x00\x00" + code + b"".join(b"\0.text.%b\0" % kernel.encode() for kernel in kernels)


@pytest.fixture
def cupti(monkeypatch, tmp_path):
    stand_in = Cupti()
    monkeypatch.setattr(loaded, "_watch", None)
    monkeypatch.setitem(sys.modules, "cupti", SimpleNamespace(cupti=stand_in))
    monkeypatch.setenv(loaded.MODULES, str(tmp_path))
    return stand_in


def test_the_module_of_each_kernel_is_written_whole(cupti):
    loaded.watch_modules()
    cupti.load(module("gemm", "other"))
    cupti.load(module("scale"))
    written = loaded.write_modules(["gemm", "scale", "memset"])
    assert {kernel: Path(path).read_bytes() for kernel, path in written.items()} == {
        "gemm": module("gemm", "other"),
        "scale": module("scale"),
    }
    assert cupti.enabled == [(1, 17, RESOURCE, MODULE_LOADED)]


def test_a_name_that_only_begins_like_a_kernels_is_another_kernel(cupti):
    loaded.watch_modules()
    cupti.load(module("gemm_split"))
    assert loaded.write_modules(["gemm", "split"]) == {}


def test_of_candidates_with_one_name_none_is_taken_for_the_one_that_ran(cupti):
    loaded.watch_modules()
    cupti.load(module("gemm", code=b"128x64"))
    cupti.load(module("gemm", code=b"64x64"))
    assert loaded.write_modules(["gemm"]) == {}


def test_one_module_that_is_loaded_twice_is_still_the_one(cupti):
    loaded.watch_modules()
    cupti.load(module("gemm"))
    cupti.load(module("gemm"))
    assert set(loaded.write_modules(["gemm"])) == {"gemm"}


def test_what_is_unloaded_is_not_loaded(cupti):
    loaded.watch_modules()
    cupti.load(module("gemm"), MODULE_UNLOAD_STARTING)
    assert loaded.write_modules(["gemm"]) == {}


def test_nothing_is_watched_unless_asked_for(cupti, monkeypatch):
    monkeypatch.delenv(loaded.MODULES)
    loaded.watch_modules()
    assert not cupti.enabled
    assert loaded.write_modules(["gemm"]) == {}


def test_a_process_subscribes_once(cupti):
    loaded.watch_modules()
    loaded.watch_modules()
    assert len(cupti.enabled) == 1


def test_a_driver_that_refuses_costs_the_modules_only(cupti, capsys):
    cupti.refuses = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
    loaded.watch_modules()
    assert "MULTIPLE_SUBSCRIBERS" in capsys.readouterr().err
    assert loaded.write_modules(["gemm"]) == {}


def test_without_cupti_the_log_says_so(cupti, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cupti", None)
    loaded.watch_modules()
    assert "cupti-python cannot be imported" in capsys.readouterr().err
