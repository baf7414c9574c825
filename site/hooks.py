"""Puts generated HTML into pages after Markdown is done with them: Markdown never sees, never bends, native text.

What a page says of itself is escaped here, because the theme's templates escape nothing.
"""

from __future__ import annotations

import html as markup
import re
from pathlib import Path
from typing import Any

FRAGMENT = re.compile(r"<!-- fragment: ([\w./-]+) -->")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> None:
    """A description is a workload's question, or another text that came in a bundle."""
    if description := page.meta.get("description"):
        page.meta["description"] = markup.escape(str(description))


def on_page_content(html: str, *, config: Any, **_: Any) -> str:
    """Replace each fragment comment by its file; one that is missing ends the build."""
    folder = Path(config.docs_dir) / ".fragments"
    return FRAGMENT.sub(lambda match: (folder / match[1]).read_text(encoding="utf-8"), html)
