"""The exceptions of this project. A worker's trouble is none of them: it is an outcome with a reason.

TensorAssetsError
├── ManifestError        a workload manifest is wrong: names the file, the JSON pointer, the value, what is allowed
├── ClaimError           a claims file is wrong: names the file, the JSON pointer, the line, the value, what is allowed
├── TraceError           a Python function does what no workload can: names its line
├── SettingsError        a setting or argument is wrong: names it, its value, what is allowed
├── EnvironmentBroken    a compiler's environment cannot be built
├── ProtocolError        a worker's reply is not what the protocol allows
├── DeviceRefused        the device found is not one the policy allows
├── LeaseDamaged         the file that says which session has a GPU cannot be read
├── LauncherMisconfigured  dagster.yaml names a launcher that cannot be used as it says
├── AllocationMismatch   records of different allocations or fingerprints were about to be joined
├── ArraysRefused        an .npz file holds what no worker may send: objects, too many bytes, names that are no names
├── EvidenceDamaged      a stored file differs from its name
├── EvidenceMissing      a record or file that something refers to is not in the store
├── EvidencePrivate      a file or record is not for publication
├── RecordRefused        a record cannot be kept or read: a NaN, a schema this version does not know
├── BundleRefused        a bundle is not what it says, nothing was imported
├── ReproRefused         a cell cannot be written as a standalone script, or there is nothing to reproduce
├── BisectRefused        what was asked to be bisected has no versions, no states or nothing that differs
├── AlertNotTold         the command that passes alerts on failed: it is tried again at the next tick
├── SiteBroken           the site would be incomplete: a build error, or an address that leads nowhere
└── StoreUnwritable      the store, cache or site folder cannot be written, or not be reached
"""

from __future__ import annotations


class TensorAssetsError(Exception):
    """Base of all; ``str()`` is one line a user can act on."""


class ManifestError(TensorAssetsError):
    def __init__(self, source: str, pointer: str, problem: str) -> None:
        super().__init__(f"{source} at {pointer or '/'}: {problem}")
        self.source, self.pointer, self.problem = source, pointer, problem


class ClaimError(TensorAssetsError):
    def __init__(self, source: str, pointer: str, line: int, problem: str) -> None:
        place = f" line {line}" if line else ""
        super().__init__(f"{source}{place} at {pointer or '/'}: {problem}")
        self.source, self.pointer, self.line, self.problem = source, pointer, line, problem


class TraceError(TensorAssetsError):
    pass


class SettingsError(TensorAssetsError):
    pass


class EnvironmentBroken(TensorAssetsError):
    pass


class ProtocolError(TensorAssetsError):
    pass


class DeviceRefused(TensorAssetsError):
    pass


class LeaseDamaged(TensorAssetsError):
    pass


class LauncherMisconfigured(TensorAssetsError):
    pass


class AllocationMismatch(TensorAssetsError):
    pass


class ArraysRefused(TensorAssetsError):
    pass


class EvidenceDamaged(TensorAssetsError):
    pass


class EvidenceMissing(TensorAssetsError):
    pass


class EvidencePrivate(TensorAssetsError):
    pass


class RecordRefused(TensorAssetsError):
    pass


class BundleRefused(TensorAssetsError):
    pass


class StoreUnwritable(TensorAssetsError):
    pass


class SiteBroken(TensorAssetsError):
    pass


class AlertNotTold(TensorAssetsError):
    pass


class ReproRefused(TensorAssetsError):
    pass


class BisectRefused(TensorAssetsError):
    pass
