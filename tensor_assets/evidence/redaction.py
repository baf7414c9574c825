"""Finding and replacing what must not be published in a text: secrets, people, places.

One mechanism does both jobs. ``redact`` replaces, rule by rule, and counts; text is clean when it counts nothing.
Replacing twice changes nothing more, and a line stays a line, so line numbers that point into native text hold. Which
rules applied, and how often, is recorded with the evidence (``Evidence.redacted``). What a text spells in numbers,
escapes, hexadecimal digits or base64 (``spelled.py``) goes through the same rules.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from tensor_assets.evidence.identity import Identity
from tensor_assets.evidence.rules import Rule, all_rules
from tensor_assets.evidence.spelled import Spelled, readers
from tensor_assets.records import Evidence, Key, Record

Counts = dict[str, int]

# The variables that provenance may hold: what compilers, drivers and thread pools read.
_SHAPING = re.compile(
    r"(?:CUDA|NVIDIA|OMP|MKL|OPENBLAS|GOMP|KMP|TORCH|TORCHINDUCTOR|TRITON|TVM|MODULAR|LUMINAL)_\w*(?<!KEY)(?<!TOKEN)"
    r"|BEAM|DEBUG|NOOPT|CPU|CUDA|GPU|LANG|LC_\w+|TZ|PYTHONHASHSEED|TENSOR_ASSETS_TARGET"
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Their values are versions, and "10.3.5.147" may be one or an address.
_VERSIONS = frozenset({"version", "versions", "packages", "freeze", "toolchain", "python", "driver"}) | frozenset(
    {"accepted", "newest", "previous", "candidate", "release"}  # package → version, in the records of releases
)


def redact(text: str, identity: Identity, versions: bool = False) -> tuple[str, Counts]:
    """``text`` with placeholders, and how often each rule applied (empty: it was clean).

    ``versions`` says that the text is a version, so that four numbers in it are no address.
    """
    rules = [rule for rule in _rules(identity) if not (versions and rule.name == "address")]
    counts: Counts = {}
    for read in readers(text):
        text = _without_spelled(text, read, rules, counts)
    lowered = text.lower()
    for rule in rules:
        if not rule.may_match(lowered):
            continue
        text, applied = rule.pattern.subn(rule.replace, text)
        if applied:
            counts[rule.name] = counts.get(rule.name, 0) + applied
    return text, counts


def _without_spelled(text: str, read: Callable[[str], Spelled], rules: list[Rule], counts: Counts) -> str:
    """``text`` without what a rule finds in that which is spelled in it, until none finds any more."""
    while (spelled := read(text)).characters:
        lowered, hidden = spelled.characters.lower(), set[int]()
        for rule in (rule for rule in rules if rule.may_match(lowered)):
            for match in rule.pattern.finditer(spelled.characters):
                if found := spelled.hidden(*match.span()):
                    counts[rule.name] = counts.get(rule.name, 0) + 1
                    hidden.update(found)
        if not hidden:
            break
        text = spelled.without(text, hidden)
    return text


def redact_bytes(data: bytes, identity: Identity) -> tuple[bytes, Counts]:
    """``redact`` for a file of text; bytes that are no UTF-8 stay as they are."""
    text, counts = redact(data.decode("utf-8", "surrogateescape"), identity)
    return (text.encode("utf-8", "surrogateescape"), counts) if counts else (data, counts)


def redact_record(record: Record, identity: Identity) -> tuple[Record, Counts]:
    """The record with every string cleaned, keys of its dicts too. Its key and its hashes stay: they are identities."""
    counts: Counts = {}
    cleaned = _Cleaner(identity, counts).value(record, versions=False)
    return (cleaned, counts) if counts else (record, counts)


class _Cleaner:
    def __init__(self, identity: Identity, counts: Counts) -> None:
        self.identity, self.counts = identity, counts

    def value(self, value: Any, versions: bool) -> Any:
        if isinstance(value, str):
            return self.text(value, versions)
        if isinstance(value, Evidence):
            return msgspec.structs.replace(value, name=self.text(value.name, versions))
        if isinstance(value, Key):
            return value
        if isinstance(value, msgspec.Struct):
            return type(value)(**{name: self.field(name, getattr(value, name)) for name in value.__struct_fields__})
        if isinstance(value, tuple | list):
            return type(value)(self.value(item, versions) for item in value)
        if isinstance(value, dict):
            return {self.value(name, versions): self.value(item, versions) for name, item in value.items()}
        return value

    def field(self, name: str, value: Any) -> Any:
        if name == "boot_id":
            return self.boot(value)
        if name == "environment" and isinstance(value, dict):
            return self.value(self.shaping(value), versions=True)
        return self.value(value, name in _VERSIONS)

    def shaping(self, variables: dict[str, str]) -> dict[str, str]:
        """Without the variables that shape no result: any of them may be a secret that no rule knows."""
        kept = {name: value for name, value in variables.items() if _SHAPING.fullmatch(name)}
        if len(kept) < len(variables):
            self.counts["environment"] = self.counts.get("environment", 0) + len(variables) - len(kept)
        return kept

    def boot(self, value: str) -> str:
        """Equal boots stay equal; which host it was cannot be looked up."""
        if not _UUID.fullmatch(value):
            return value
        self.counts["host"] = self.counts.get("host", 0) + 1
        return f"boot-{hashlib.sha256(value.encode()).hexdigest()[:16]}"

    def text(self, text: str, versions: bool) -> str:
        cleaned, counts = _cached(text, self.identity, versions)
        for rule, applied in counts.items():
            self.counts[rule] = self.counts.get(rule, 0) + applied
        return cleaned


# A record repeats few strings many times (a session has thousands of blocks with the same clock).
@lru_cache(maxsize=1 << 14)
def _cached(text: str, identity: Identity, versions: bool) -> tuple[str, Counts]:
    return redact(text, identity, versions)


@lru_cache(maxsize=64)
def _rules(identity: Identity) -> tuple[Rule, ...]:
    return all_rules(identity)
