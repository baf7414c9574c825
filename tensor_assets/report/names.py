"""What addresses call the things of a snapshot, each by a name of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from tensor_assets.records import Key
from tensor_assets.report.slugs import unique_slugs


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """Stay the same when another configuration becomes the one that stands for its cell."""

    below_cell: dict[str, str]  # capture's record id → its page, below the cell's
    compared: dict[str, str]  # capture's record id → what the address of a comparison calls it
    targets: dict[str, str]
    workloads: dict[str, str]


def names_of(keys: dict[str, Key], targets: Iterable[str], workloads: Iterable[str]) -> Names:
    """``keys`` by record id."""
    ordered = sorted(keys.items(), key=lambda item: _parts(item[1]))
    cells: dict[tuple[str, str], list[tuple[str, Key]]] = defaultdict(list)
    for record_id, key in ordered:
        cells[key.workload, key.compiler].append((record_id, key))
    return Names(
        below_cell={name: told for own in cells.values() for name, told in _named(own, 2).items()},
        compared=_named(ordered, 0),
        targets=_each(targets),
        workloads=_each(workloads),
    )


def _parts(key: Key) -> tuple[str, ...]:
    return key.workload, key.compiler, key.variant, key.target, key.shape


def _named(pairs: Sequence[tuple[str, Key]], first: int) -> dict[str, str]:
    """By all parts of their keys from the ``first`` on; ``index`` is the name of what lists them."""
    told = unique_slugs(("\n".join(_parts(key)[first:]) for _, key in pairs), taken=lambda found: found == "index")
    return {record_id: name for (record_id, _), name in zip(pairs, told, strict=True)}


def _each(texts: Iterable[str]) -> dict[str, str]:
    wanted = sorted(set(texts))
    return dict(zip(wanted, unique_slugs(wanted), strict=True))
