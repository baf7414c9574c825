"""Everything one compile left to look at, as stages, graph, decisions, correspondences and search."""

from __future__ import annotations

from tensor_worker.artifacts import Capture

from .correspondences import correspondences
from .decisions import decisions
from .evidence import Evidence
from .graph import STAGE, semantic_graph
from .search import search_effort
from .stage_text import StageText
from .stages import gather_stages, write_stages


def capture_compilation(evidence: Evidence) -> Capture:
    """Raises StaleCache where Inductor took the graph from its cache, and so left no trace of compiling it."""
    texts: dict[str, StageText] = {text.name: text for text in gather_stages(evidence)}
    return Capture(
        stages=write_stages(evidence.dump_dir, texts.values()),
        graph=semantic_graph(evidence, texts[STAGE].text),
        decisions=decisions(evidence, texts),
        correspondences=correspondences(evidence, texts),
        search=search_effort(evidence),
    )
