"""Lines of native text as the inside of a ``<code>``: the one thing a page has too many of for a template's loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from markupsafe import Markup, escape

from tensor_assets.report.stages import Line


def listing(lines: Iterable[Line], id: str, hues: Mapping[str, int]) -> Markup:
    """Each line is the place ``id-number`` of its page, and carries the ops that it belongs to with the hue of the
    first of them."""
    return Markup("".join(_lines(lines, str(escape(id)), hues)))


def _lines(lines: Iterable[Line], id: str, hues: Mapping[str, int]) -> Iterator[str]:
    told: dict[tuple[str, ...], str] = {(): ""}
    for line in lines:
        if not line.number:
            yield f'<span class="gap">{line.html}\n</span>'
            continue
        if line.ops not in told:
            told[line.ops] = f' data-ops="{escape(" ".join(line.ops))}" style="--h:{hues.get(line.ops[0], 0)}"'
        place, guess = f"{id}-{line.number}", " guess" if line.guess else ""
        yield (
            f'<span class="l{guess}" id="{place}"{told[line.ops]}>'
            f'<a href="#{place}">{line.number}</a>{line.html}\n</span>'
        )
