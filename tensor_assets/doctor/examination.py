"""All checks, in the order in which a run would meet what they look at."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import msgspec

from tensor_assets.doctor import (
    compilers,
    devices,
    index,
    installation,
    instance,
    launchers,
    places,
    profilers,
    workloads,
)
from tensor_assets.doctor.findings import Finding, fail, first_line
from tensor_assets.settings import Settings

Check = Callable[[], Finding | Iterable[Finding]]


class Examination(msgspec.Struct, frozen=True):
    findings: tuple[Finding, ...]
    seconds: dict[str, float]  # by check

    @property
    def sound(self) -> bool:
        return all(finding.state != "fail" for finding in self.findings)


def examine(settings: Settings, environ: Mapping[str, str] = os.environ) -> Examination:
    """Run every check; a check that breaks is a failed finding of its own, and the others still run."""
    home = instance.home_of(settings, environ)
    found: dict[str, tuple[list[Finding], float]] = {}
    with ThreadPoolExecutor(1) as pool:
        # The only one that waits for somebody else.
        asked = pool.submit(_timed, lambda: index.check_index(index.environments_missing(settings), environ))
        for name, check in _checks(settings, environ, home).items():
            found[name] = _timed(check, name)
        found["package index"] = asked.result()
    return Examination(
        findings=tuple(finding for findings, _ in found.values() for finding in findings),
        seconds={name: seconds for name, (_, seconds) in found.items()},
    )


def _checks(settings: Settings, environ: Mapping[str, str], home: instance.Home) -> dict[str, Check]:
    return {
        "python": installation.check_python,
        "packages": installation.check_packages,
        "places": lambda: places.check_places(settings, home.folder),
        "store": lambda: places.check_store(settings.store),
        "disks": lambda: places.check_disks(settings),
        "instance": lambda: instance.check_instance(home, settings.target),
        "leases": launchers.check_leases,
        "device": lambda: devices.check_devices(settings.target),
        "profilers": lambda: profilers.check_profilers(settings, devices.present(), environ),
        "compilers": lambda: compilers.check_compilers(settings, environ),
        "workloads": lambda: workloads.check_workloads(settings),
        "code location": workloads.check_location,
    }


def _timed(check: Check, name: str = "package index") -> tuple[list[Finding], float]:
    began = time.monotonic()
    try:
        found = check()
        findings = [found] if isinstance(found, Finding) else list(found)
    except Exception as error:  # a check of ours that breaks must hide no other
        findings = [fail(name, f"the check itself broke: {type(error).__name__}: {first_line(error)}")]
    return findings, time.monotonic() - began
