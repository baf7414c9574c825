"""Names, versions and devices that every record of the campaign shares."""

from __future__ import annotations

import hashlib

from tensor_assets.records import (
    Provenance,
)

PROVENANCE = Provenance(created="2026-11-29T12:00:00Z", command=("tensor-assets", "run"), project="0.1.0")
VERSIONS = {
    "tinygrad": "0.14.0",
    "luminal": "77d3060",
    "max": "26.7.0",
    "inductor": "2.14.1",
    "tvm": "0.27.0.post1",
    "eager": "2.14.1",
    "triton": "3.8.0",
}
HOST = "AMD EPYC 9354 32-Core Processor"
H200 = "NVIDIA H200"


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
