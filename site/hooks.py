"""Puts generated HTML into pages after Markdown is done with them: Markdown never sees, never bends, native text.

What a page says of itself is escaped here, because the theme's templates escape nothing. What a page keeps out of the
search is put in last: the search's parser reads a page tag by tag, and would throw away nearly all that it read.
"""

from __future__ import annotations

import html as markup
import re
from pathlib import Path
from typing import Any

FRAGMENT = re.compile(r"<!-- fragment: ([\w./-]+) -->")
# No article lies in another one, and neither an attribute's value nor native text holds a bare angle bracket.
UNSEARCHED = re.compile(
    r"(?<=<article )([^<>]*\bdata-search-exclude\b[^<>]*>)([^<]*(?:<(?!/article>)[^<]*)*)(?=</article>)"
)
LEFT_OUT = re.compile(r"<!-- left out: (\d+) -->")

_left_out: dict[str, list[str]] = {}  # by page, in order


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> None:
    """A description is a workload's question, or another text that came in a bundle."""
    if description := page.meta.get("description"):
        page.meta["description"] = markup.escape(str(description))


def on_page_content(html: str, *, page: Any, config: Any, **_: Any) -> str:
    """Replace each fragment comment by its file, but for what the search skips; one that is missing ends the build."""
    folder = Path(config.docs_dir) / ".fragments"
    left_out = _left_out[page.file.src_uri] = []

    def leave_out(match: re.Match[str]) -> str:
        left_out.append(match[2])
        return f"{match[1]}<!-- left out: {len(left_out) - 1} -->"

    whole = FRAGMENT.sub(lambda match: (folder / match[1]).read_text(encoding="utf-8"), html)
    return UNSEARCHED.sub(leave_out, whole)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Put back what the search did not have to read."""
    left_out = _left_out.pop(page.file.src_uri)
    return LEFT_OUT.sub(lambda match: left_out[int(match[1])], output)
