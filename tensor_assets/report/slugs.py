"""Words as parts of addresses and ids, no two things under one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator


def slug(text: str) -> str:
    """Letters, digits and hyphens: safe in a path, an id and a class."""
    return "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in text.lower()).split())


def unique_slugs(texts: Iterable[str], taken: Callable[[str], bool] = lambda found: False) -> list[str]:
    """One for each text, in order, no two alike and none that is ``taken``.

    A text keeps its slug where it can. Of several with one slug the first does; the others, and a text without a letter
    or digit, get some digits of their hash before it.
    """
    wanted = list(texts)
    found: dict[int, str] = {}
    used: set[str] = set()
    for place, text in enumerate(wanted):
        own = slug(text)
        if own and own not in used and not taken(own):
            used.add(own)
            found[place] = own
    for place, text in enumerate(wanted):
        if place not in found:
            found[place] = next(name for name in _marked(text, place) if name not in used and not taken(name))
            used.add(found[place])
    return [found[place] for place in range(len(wanted))]


def _marked(text: str, place: int) -> Iterator[str]:
    """The same text twice is told apart by its place."""
    for seed in (text, f"{place}\0{text}"):
        digits = hashlib.sha256(seed.encode(errors="surrogatepass")).hexdigest()
        yield from (f"n{digits[:length]}-{slug(text)}".rstrip("-") for length in (6, 64))
