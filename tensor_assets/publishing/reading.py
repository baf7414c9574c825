"""The two files of a target that say what it holds, read and written the same way everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from tensor_assets.errors import SettingsError
from tensor_assets.evidence.published import SEAL, Seal
from tensor_assets.publishing.versions import PUBLICATION, Publication


def read_publication(data: bytes | None, target: str) -> Publication:
    """None is a place that was never published to. Raises SettingsError for a file that is none of ours."""
    if data is None:
        return Publication()
    try:
        return msgspec.json.decode(data, type=Publication)
    except msgspec.MsgspecError as error:
        raise SettingsError(
            f"{target}: {PUBLICATION} cannot be read ({error}); restore it, or publish elsewhere"
        ) from None


def read_hashes(seal: bytes | None) -> Mapping[str, str]:
    """Path → SHA-256 of what was published at a target's root. Of a seal that cannot be read: nothing, so that every
    file is put there anew."""
    try:
        named = msgspec.json.decode(seal or b"", type=Seal).files
        return {**named, SEAL: hashlib.sha256(seal or b"").hexdigest()}
    except msgspec.MsgspecError:
        return {}


def encoded(publication: Publication) -> bytes:
    return msgspec.json.format(msgspec.json.encode(publication), indent=1) + b"\n"
