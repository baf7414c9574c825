"""The pages of what changed: one per cell with more than one record of a configuration, the alerts, and the feeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import escape

from tensor_assets.errors import EvidencePrivate
from tensor_assets.history.outcomes import stretches
from tensor_assets.history.series import Track, tracks
from tensor_assets.records import AlertRecord, ChangesRecord
from tensor_assets.report import feeds
from tensor_assets.report.faces import Face, face_of
from tensor_assets.report.figures import Figures
from tensor_assets.report.history_chart import history_chart
from tensor_assets.report.history_rows import Ended, Moment, folded, moments, outcomes
from tensor_assets.report.public import PublicFiles
from tensor_assets.report.quantities import percent
from tensor_assets.report.reading import CLOCK_ORDER, PublicStore
from tensor_assets.report.rendering import Renderer
from tensor_assets.report.slugs import unique_slugs

Cell = tuple[str, str]  # workload, compiler
WritePage = Callable[[str, str, str], None]  # path, title, fragment


class HistoryPages:
    """Reads the histories once; ``page_of`` may be asked before anything is written."""

    def __init__(
        self, store: PublicStore, faces: dict[str, Face], files: PublicFiles, figures: Figures, renderer: Renderer
    ) -> None:
        self._store, self._faces, self._files = store, faces, files
        self._figures, self._renderer = figures, renderer
        self._tracks, self._stretches = _grouped(tracks(store)), _grouped(stretches(store))
        self.alerts = sorted(store.records(AlertRecord, history=True), key=lambda pair: pair[1].since, reverse=True)

    @cached_property
    def cells(self) -> list[Cell]:
        """Those of which some configuration was timed, or captured and judged, more than once."""
        timed = {
            cell for cell, own in self._tracks.items() if any(sum(len(s.points) for s in t.series) > 1 for t in own)
        }
        judged = {cell for cell, own in self._stretches.items() if len(own) > len({one.place for one in own})}
        judged |= {cell for cell, own in self._stretches.items() if any(len(one.captures) > 1 for one in own)}
        return sorted(timed | judged)

    def page_of(self, workload: str, compiler: str) -> str:
        """The cell's history page, or "" where its history is one record."""
        return history_page(workload, compiler) if (workload, compiler) in self.cells else ""

    def write(self, write_page: WritePage, cells: Container[tuple[str, str]]) -> None:
        """``cells``: those that have a page of their own; times may be there of a cell whose captures are not."""
        for workload, compiler in self.cells:
            page = history_page(workload, compiler)
            face, tracks = face_of(compiler, self._faces), self._shown((workload, compiler))
            names = (f"{track.place.variant} {track.place.target} {track.place.shape}" for track in tracks)
            slugs = unique_slugs(names, taken=("outcomes", "limits").__contains__)
            html = self._renderer.render(
                "history_cell.html",
                page,
                workload=workload,
                face=face,
                parts=[part for place in zip(tracks, slugs, strict=True) for part in self._part(*place, face)],
                outcomes=self._outcomes((workload, compiler)),
                cell=f"cells/{workload}/{compiler}.html" if (workload, compiler) in cells else "",
            )
            write_page(page, f"{workload} × {face.title} over time", html)

    def context(self) -> dict[str, Any]:
        """What the list of alerts needs."""
        for _, alert in self.alerts:
            self._carry((alert.before, alert.after))
        for alert_id, alert in self.alerts:
            self._files.add_record(alert_id, alert, "alert record")
        cells = [
            (workload, face_of(compiler, self._faces), history_page(workload, compiler))
            for workload, compiler in self.cells
        ]
        return {
            "alerts": [(i, alert, self._page_of_alert(alert), self._known(alert)) for i, alert in self.alerts],
            "cells": cells,
        }

    def write_feeds(self, folder: Path, site_url: str, changes_page: str = "", made: str = "") -> None:
        """``changes_page``: where release changes are told, if this site has such a page; ``made`` as in ``atom``."""
        entries = [self._entry(alert_id, alert) for alert_id, alert in self.alerts]
        told = self._store.records(ChangesRecord, history=True) if changes_page else ()
        entries += [
            feeds.Entry(
                record=i,
                title=r.headline,
                when=r.provenance.created,
                page=changes_page,
                html=f"<p>{escape(r.headline)}</p>",
            )
            for i, r in told
        ]
        (folder / feeds.ATOM_FILE).write_bytes(feeds.atom(entries, site_url, made))
        (folder / feeds.JSON_FILE).write_bytes(feeds.json_feed(entries, site_url))

    def _entry(self, alert_id: str, alert: AlertRecord) -> feeds.Entry:
        names = {"Before": alert.before, "after": alert.after}
        evidence = ", ".join(f"{word}: record <code>{record[:12]}</code>" for word, record in names.items())
        interval = ""
        if alert.interval:
            low, high = map(percent, sorted(abs(end - 1) for end in alert.interval))
            interval = f"<p>95 % of the change: {escape(low)} to {escape(high)}.</p>"
        return feeds.Entry(
            record=alert_id,
            title=alert.sentence,
            when=alert.provenance.created,
            page=f"history.html#alert-{alert_id[:12]}",
            html=f"<p>{escape(alert.sentence)}</p>{interval}<p>{evidence}</p>",
        )

    def _shown(self, cell: Cell) -> list[Track]:
        """Of each configuration, the track on the closest clock: warm, on random data where there is such a one."""
        best: dict[Any, Track] = {}
        for track in self._tracks.get(cell, []):
            if track.place not in best or _rank(track) < _rank(best[track.place]):
                best[track.place] = track
        return list(best.values())

    def _part(self, track: Track, slug: str, face: Face) -> list[dict[str, Any]]:
        chart = history_chart(track, face)
        if chart is None:
            return []
        alerted = {record for _, alert in self.alerts for record in (alert.before, alert.after)}
        rows = folded(moments(track, alerted))
        self._carry(row.record for row in rows if isinstance(row, Moment))
        place = track.place
        return [
            {
                "title": f"{place.variant}, {place.target}, {place.shape}",
                "slug": slug,
                "axis": track.axis.replace("/", ", "),
                "figure": self._figures.figure(chart, "../.."),
                "rows": rows,
            }
        ]

    def _outcomes(self, cell: Cell) -> list[Ended]:
        rows = outcomes(self._stretches.get(cell, []))
        self._carry(record for row in rows for record in row.records)
        return rows

    def _carry(self, records: Iterable[str]) -> None:
        """Put records on the site, so that their marks lead somewhere."""
        for record_id in records:
            if self._here(record_id):
                self._files.add_record(record_id, self._store.get(record_id), "record")

    def _here(self, record_id: str) -> bool:
        try:
            self._store.get(record_id)
        except EvidencePrivate:
            return False
        return True

    def _known(self, alert: AlertRecord) -> bool:
        return self._here(alert.before) and self._here(alert.after)

    def _page_of_alert(self, alert: AlertRecord) -> str:
        return self.page_of(alert.key.workload, alert.key.compiler)


def history_page(workload: str, compiler: str) -> str:
    return f"history/{workload}/{compiler}.html"


def _grouped(found: Iterable[Any]) -> dict[Cell, list[Any]]:
    cells: dict[Cell, list[Any]] = defaultdict(list)
    for one in found:
        cells[one.place.workload, one.place.compiler].append(one)
    return dict(cells)


def _rank(track: Track) -> tuple[bool, bool, int]:
    clock, cache, data = track.axis.split("/")
    return cache != "warm", data != "random", CLOCK_ORDER.index(clock)
