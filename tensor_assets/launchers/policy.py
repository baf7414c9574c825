"""Which devices a run may have. H100 means H100: anything else is refused by name, unless the policy allows it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tensor_assets.errors import DeviceRefused, LauncherMisconfigured
from tensor_assets.sessions.nvml import Installed

GIB = 1 << 30


class DevicePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``accelerators`` are names in order of preference: a whole name, or the words of it that matter ("H100")."""

    accelerators: tuple[str, ...] = ("H100",)
    minimum_driver: str = ""  # as NVML says it, e.g. "525.60.13"; empty for any
    minimum_memory_gib: float = 0.0
    exclusive: bool = True  # nobody else computes on it when it is granted
    mig: bool = False  # whether a slice will do

    def __post_init__(self) -> None:
        if not self.accelerators or not all(name.strip() for name in self.accelerators):
            raise LauncherMisconfigured("run_launcher.config.policy.accelerators: name at least one, e.g. [H100]")
        if self.minimum_driver and not re.fullmatch(r"\d+(\.\d+)*", self.minimum_driver):
            raise LauncherMisconfigured(
                f"run_launcher.config.policy.minimum_driver: {self.minimum_driver!r} is no version, e.g. 525.60.13"
            )

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> DevicePolicy:
        """Raises LauncherMisconfigured, which names the field."""
        try:
            return msgspec.convert(dict(config), cls, strict=False)
        except msgspec.ValidationError as error:
            raise LauncherMisconfigured(f"run_launcher.config.policy: {error}") from None

    def objection(self, device: Installed) -> str:
        """Why this device may not be used, in a few words; empty where it may."""
        if self._preference(device.name) is None:
            return f"is no {' or '.join(self.accelerators)}"
        if device.mig and not self.mig:
            return "is a MIG slice; allow it with mig: true"
        if _numbers(device.driver) < _numbers(self.minimum_driver):
            return f"has driver {device.driver}, at least {self.minimum_driver} is asked for"
        if device.memory_bytes < self.minimum_memory_gib * GIB:
            return f"has {device.memory_bytes / GIB:.1f} GiB, at least {self.minimum_memory_gib:g} GiB are asked for"
        return ""

    def allowed(self, found: Sequence[Installed]) -> tuple[Installed, ...]:
        """Those of ``found`` that may be used, the preferred accelerators first.

        Raises DeviceRefused if there is none; the message names everything that was found.
        """
        allowed = [device for device in found if not self.objection(device)]
        if not allowed:
            raise DeviceRefused(self._refusal(found))
        return tuple(sorted(allowed, key=lambda device: self._preference(device.name) or 0))

    def _preference(self, name: str) -> int | None:
        """Its place among the accelerators; None if it is none of them."""
        places = (place for place, wanted in enumerate(self.accelerators) if _is_called(name, wanted))
        return next(places, None)

    def _refusal(self, found: Sequence[Installed]) -> str:
        asked = f"policy asks for {' or '.join(self.accelerators)}"
        if not found:
            return f"{asked}; this host has no GPU that is visible here"
        named = [f"{device.name} ({device.uuid})" for device in found]
        unknown = [device for device in found if self._preference(device.name) is None and not device.mig]
        if len(unknown) == len(found):
            more = ", ".join(dict.fromkeys((*self.accelerators, *(_short(device.name) for device in unknown))))
            return f"{asked}; this host has {', '.join(named)}. Allow it with accelerators: [{more}]"
        return f"{asked}; this host has {'; '.join(f'{device}, which {self.objection(device)}' for device in found)}"


def _is_called(name: str, wanted: str) -> bool:
    """Whole words in their order: "H100" is in "NVIDIA H100 80GB HBM3" and neither in "GH100" nor in "NVIDIA H200"."""
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", name, re.IGNORECASE) is not None


def _short(name: str) -> str:
    """The model: the first word that has a digit in it, e.g. H200."""
    return next((word for word in name.split() if any(letter.isdigit() for letter in word)), name)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
