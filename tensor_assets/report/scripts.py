"""Each cell as a script that needs the compiler and NumPy alone, for readers to run and to report."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tensor_assets.errors import EvidencePrivate, ReproRefused
from tensor_assets.records import ReproRecord
from tensor_assets.report.reading import Configuration, PublicStore, Snapshot
from tensor_assets.repro.cases import Spelled, case_of
from tensor_assets.repro.script import write_script
from tensor_assets.workers.adapters import discover


class ScriptLink(msgspec.Struct, frozen=True, kw_only=True):
    """``href`` from the site's root, or why there is none."""

    href: str = ""
    why: str = ""
    about: str = ""


class Scripts:
    """Writes scripts below ``folder/repro``; ``cache`` keeps what was worked out of fixtures between builds."""

    def __init__(self, store: PublicStore, adapters: Path, folder: Path, cache: Path | None) -> None:
        self._store, self._folder = store, folder
        self._adapters = discover(adapters)
        self._spelled = Spelled(store.read, cache / "repro" if cache else None)
        tried = sorted(store.records(ReproRecord), key=lambda pair: pair[1].provenance.created)
        self._texts: dict[str, str] = {}
        self._tried = {record.capture: record for _, record in tried}

    def of(self, configuration: Configuration, snapshot: Snapshot) -> ScriptLink:
        """The reduced and tried script where somebody had one made, else the cell as it is."""
        if found := self._reduced(configuration):
            return found
        key = configuration.key
        fixtures = snapshot.fixtures.get((key.workload, key.shape))
        if key.compiler not in self._adapters or fixtures is None:
            return ScriptLink(why="its adapter or its fixtures are not here")
        try:
            case = case_of(
                self._adapters[key.compiler],
                configuration.capture_id,
                configuration.capture,
                fixtures[1],
                configuration.environment,
                self._spelled,
            )
            about = "it repeats this cell as it is, and was not tried yet"
            return self._written(f"{case.name}.py", write_script(case), about, configuration.capture_id)
        except ReproRefused as refused:
            return ScriptLink(why=str(refused))

    def _reduced(self, configuration: Configuration) -> ScriptLink | None:
        record = self._tried.get(configuration.capture_id)
        if record is None:
            return None
        try:
            text = self._store.read(record.script).decode("utf-8")
        except EvidencePrivate:
            return None
        return self._written(record.script.name, text, _about(record), configuration.capture_id)

    def _written(self, name: str, text: str, about: str, capture_id: str) -> ScriptLink:
        """Two captures, reduced from two shapes, may have scripts of one name: the second carries its capture's."""
        if self._texts.setdefault(name, text) != text:
            name = f"{name.removesuffix('.py')}-{capture_id[:12]}.py"
        path = self._folder / "repro" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return ScriptLink(href=f"repro/{name}", about=about)


def _about(record: ReproRecord) -> str:
    reduced = f"reduced ({record.reduced}), " if record.reduced else ""
    if record.confirmed is None:
        return f"{reduced}not run where it was made"
    return f"{reduced}run once: exit code {record.exit_code}, {'as' if record.confirmed else 'not as'} the cell"
