"""Text that Markdown must not read: reasons, names of devices, whatever a record says in words of its own."""

from __future__ import annotations

from markupsafe import Markup

# What Markdown would take for its own: written as entities, any text stays what it is.
_MARKDOWN = str.maketrans({char: f"&#{ord(char)};" for char in "\\`*_{}[]()#+-.!|~:^=\"'"})


def plain(text: str) -> Markup:
    """``text`` as it is, whatever HTML and Markdown would make of it."""
    escaped = str(Markup.escape(" ".join(text.split())))
    parts = escaped.split("&")  # the entities that escaping made stay
    return Markup("&".join([parts[0].translate(_MARKDOWN), *(_after_entity(part) for part in parts[1:])]))


def _after_entity(part: str) -> str:
    entity, _, rest = part.partition(";")
    return f"{entity};{rest.translate(_MARKDOWN)}"
