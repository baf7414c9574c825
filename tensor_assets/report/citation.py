"""How to cite the data: a Citation File Format file made from what the site holds."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

import yaml

from tensor_assets.report.reading import Snapshot

NAME = "CITATION.cff"


def write_citation(snapshot: Snapshot, tables: list[Path], folder: Path) -> Path:
    """Write ``folder/CITATION.cff``: it names the newest record's date and the hash of every Parquet table."""
    created = [c.capture.provenance.created for c in snapshot.configurations]
    about = {
        "cff-version": "1.2.0",
        "message": "If you use these data, please cite them as below, with the hash of the table you used.",
        "type": "dataset",
        "title": "tensor_assets: what tensor compilers did with small programs",
        "authors": [{"name": "tensor_assets contributors"}],
        "version": version("tensor-assets"),
        "keywords": ["tensor compilers", "GPU kernels", "numerical contract", "benchmark"],
        "abstract": (
            f"{len(snapshot.configurations)} configurations of {len(snapshot.workloads())} programs on "
            f"{', '.join(snapshot.targets()) or 'no target yet'}; every row names the records it came from by SHA-256."
        ),
        "identifiers": [
            {
                "type": "other",
                "value": f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
                "description": f"data/{path.name}",
            }
            for path in tables
            if path.suffix == ".parquet"
        ],
    }
    if created:
        about["date-released"] = max(created)[:10]
    path = folder / NAME
    path.write_text(yaml.safe_dump(about, sort_keys=False, allow_unicode=True, width=100), encoding="utf-8")
    return path
