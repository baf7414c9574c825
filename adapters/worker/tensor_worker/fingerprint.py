"""Says whether two processes ran the same implementation."""

from __future__ import annotations

import hashlib

import msgspec

from tensor_worker.artifacts import Plan


def fingerprint(plan: Plan) -> str:
    """SHA-256 over the launches in order: kind, geometry, code. Names count only where the code is not in our hands."""
    launches = [
        (launch.kind, launch.grid, launch.block, launch.shared_bytes, launch.code_sha256 or f"name:{launch.name}")
        for launch in plan.launches
    ]
    return hashlib.sha256(msgspec.json.encode(launches)).hexdigest()
