"""What the search need not read is kept from it and is on the page all the same."""

from __future__ import annotations

import json
from pathlib import Path

from material.plugins.search.plugin import Parser


def of_one_fragment(built) -> list[tuple[str, Path, Path]]:
    """Every page that is one generated fragment: its address, the fragment, the built page."""
    folder = built.pages / ".fragments"
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    return [(path, folder / path, built.site / path) for path in paths if (built.site / path).exists()]


def test_the_index_is_what_it_would_be_if_the_search_had_read_each_page_whole(built):
    index = json.loads((built.site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    generated = of_one_fragment(built)
    assert {"cells", "workloads", "evidence"} <= {path.partition("/")[0] for path, _, _ in generated}
    for path, fragment, _ in generated:
        parser = Parser()
        parser.feed(fragment.read_text(encoding="utf-8"))
        parser.close()
        read = ["".join(section.text).strip() for section in parser.data if not section.is_excluded()]
        assert [doc["text"] for doc in index if doc["location"].partition("#")[0] == path] == read, path


def test_a_page_holds_its_whole_fragment(built):
    for path, fragment, page in of_one_fragment(built):
        assert fragment.read_text(encoding="utf-8") in page.read_text(encoding="utf-8"), path
