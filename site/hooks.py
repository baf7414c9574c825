"""Puts generated HTML into pages after Markdown is done with them: Markdown never sees, never bends, native text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

FRAGMENT = re.compile(r"<!-- fragment: ([\w./-]+) -->")


def on_page_content(html: str, *, config: Any, **_: Any) -> str:
    """Replace each fragment comment by its file; one that is missing ends the build."""
    folder = Path(config.docs_dir) / ".fragments"
    return FRAGMENT.sub(lambda match: (folder / match[1]).read_text(encoding="utf-8"), html)
