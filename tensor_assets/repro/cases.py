"""Cases out of records: the fixture that shows it, with its arrays and what was seen."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from tensor_worker.program import Program

from tensor_assets.contract.arrays import Array, hash_arrays, load_arrays
from tensor_assets.contract.drawing import draw_decided
from tensor_assets.contract.fixtures import build_fixtures
from tensor_assets.contract.grids import FAMILY, Exact, NotExact
from tensor_assets.contract.oracle import evaluate, outputs_of
from tensor_assets.contract.rows import Entangled, take_first
from tensor_assets.errors import ArraysRefused, EvidenceMissing, EvidencePrivate, ReproRefused
from tensor_assets.records import CaptureRecord, EnvironmentRecord, Evidence, Fixture, FixtureRecord, Verdict
from tensor_assets.repro.case import Case, Known, Seen, hashed
from tensor_assets.repro.inputs import LARGEST, Packing
from tensor_assets.repro.reference import known_lines
from tensor_assets.workers.adapters import AdapterFolder

REPRODUCIBLE = ("ok", "rejected", "crashed", "unsupported", "censored")
_ATTEMPTS = ("", "/1", "/2", "/3")  # a fixture's stream of numbers is named by the recipe that worked
_TOPS = (1.0, 2.0**-4)  # of a grid, the sizes of results that a fixture is drawn with, in turn
_ROWS = (256, 64, 16, 4, 1)

Read = Callable[[Evidence], bytes]


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """Why a fixture cannot be spelled."""

    why: str


class Spelled:
    """Fixtures as lines, each worked out once; ``folder`` keeps them between builds of the site.

    That a fixture cannot be spelled is kept too: it takes as long to find out.
    """

    def __init__(self, read: Read, folder: Path | None = None) -> None:
        self._read, self._folder = read, folder
        self._known: dict[str, Known | Refused] = {}
        if folder:
            folder.mkdir(parents=True, exist_ok=True)

    def of(self, program: Program, fixture: Fixture) -> Known:
        """Raises ReproRefused as ``known_of`` does."""
        name = hashlib.sha256(msgspec.json.encode((program, sorted(fixture.hashes.items())))).hexdigest()
        if name not in self._known:
            self._known[name] = self._kept(name) or self._made(name, program, fixture)
        known = self._known[name]
        if isinstance(known, Refused):
            raise ReproRefused(known.why)
        return known

    def _made(self, name: str, program: Program, fixture: Fixture) -> Known | Refused:
        key = f"{program.workload}/{program.shape}/{fixture.name}/{fixture.seed}"
        made: Known | Refused
        try:
            made = known_of(program, *_arrays(program, fixture, self._read), key)
        except ReproRefused as refused:
            made = Refused(why=str(refused))
        if self._folder:
            (self._folder / f"{name}.json").write_bytes(msgspec.json.encode(made))
        return made

    def _kept(self, name: str) -> Known | Refused | None:
        """None too where a build was cut short as it wrote the file: it is made and written again."""
        path = self._folder / f"{name}.json" if self._folder else None
        try:
            return msgspec.json.decode(path.read_bytes(), type=Known | Refused) if path and path.is_file() else None
        except msgspec.MsgspecError:
            return None


def case_of(
    adapter: AdapterFolder,
    capture_id: str,
    capture: CaptureRecord,
    fixtures: FixtureRecord,
    environment: EnvironmentRecord | None,
    spelled: Spelled,
) -> Case:
    """Raises ReproRefused where nothing can be reproduced: this host's trouble, no exact fixture, data too large."""
    if capture.outcome.status not in REPRODUCIBLE:
        raise ReproRefused(f"nothing to reproduce: the cell is {capture.outcome.status} ({capture.outcome.reason})")
    fixture = telling_fixture(fixtures, capture)
    known = spelled.of(fixtures.program, fixture)
    admission = capture.admission
    wrong = [v for v in admission.verdicts if v.kind == "exact" and not v.passed] if admission else []
    return Case(
        adapter=adapter,
        known=known,
        variant=capture.key.variant,
        target=capture.key.target,
        status=capture.outcome.status,
        reason=capture.outcome.reason,
        boundary=admission.boundary if admission else "",
        fixture=fixture.name,
        seen=tuple(_seen(v) for v in wrong if v.fixture == fixture.name and not known.rows),
        packages=packages_of(adapter, environment, capture),
        python=environment.python if environment else "",
        record=capture_id,
        reduced=f"shape {fixtures.program.shape} to its first {known.rows} rows" if known.rows else "",
    )


def telling_fixture(fixtures: FixtureRecord, capture: CaptureRecord) -> Fixture:
    """The first exact fixture that the capture failed, or the first exact one of all."""
    exact = {fixture.name: fixture for fixture in fixtures.fixtures if fixture.exact}
    if not exact:
        raise ReproRefused(f"{fixtures.program.workload} has no exact fixture: there is no one right answer to compare")
    verdicts = capture.admission.verdicts if capture.admission else ()
    failed = [v.fixture for v in verdicts if not v.passed and v.kind in ("exact", "form") and v.fixture in exact]
    if capture.outcome.status == "rejected" and not failed:
        raise ReproRefused(
            "it was rejected on fixtures that have more than one legal answer: no script can tell by bits"
        )
    return exact[failed[0]] if failed else next(iter(exact.values()))


def packages_of(
    adapter: AdapterFolder, environment: EnvironmentRecord | None, capture: CaptureRecord
) -> dict[str, str]:
    """What to install: the compiler, its companions, what its worker names, NumPy."""
    frozen = environment.freeze if environment else {}
    wanted = dict.fromkeys((adapter.package, *adapter.companions, *capture.provenance.packages, "numpy"))
    found = {name: frozen.get(name) or capture.provenance.packages.get(name, "") for name in wanted if name}
    return {name: version for name, version in found.items() if version}


def known_of(program: Program, inputs: Mapping[str, Array], expected: Mapping[str, Array], key: str) -> Known:
    """The fixture drawn again, carried, or its first rows. ``key``: how its stream of numbers is called.

    Raises ReproRefused if its inputs are too large to be carried and no draw gives them.
    """
    for tail in _ATTEMPTS:
        if made := _spelled(program, inputs, expected, key + tail, 0):
            return made
    if made := _spelled(program, inputs, expected, key, LARGEST):
        return made
    for cut, some in _cut(program, inputs):
        if made := _spelled(cut, some, evaluate(cut, some), key, LARGEST):
            return msgspec.structs.replace(made, rows=cut.value(cut.outputs[0]).shape[-2])
    raise ReproRefused(f"the inputs of {program.workload} at {program.shape} are too large for a script")


def _cut(program: Program, inputs: Mapping[str, Array]) -> Iterator[tuple[Program, dict[str, Array]]]:
    for rows in _ROWS:
        try:
            yield take_first(program, inputs, rows)
        except Entangled:
            return


def _spelled(
    program: Program, inputs: Mapping[str, Array], expected: Mapping[str, Array], key: str, carried: int
) -> Known | None:
    try:
        lines = known_lines(program, inputs, key, Packing(carried))
    except ReproRefused:
        return None
    return Known(
        program=program,
        lines=tuple(lines),
        inputs_sha256=hashed(inputs, [value.name for value in program.inputs], zeros=True),
        expected_sha256=hashed(expected, program.outputs),
    )


def _arrays(program: Program, fixture: Fixture, read: Read) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """Inputs and expected outputs; made again where a compact bundle left them out."""
    try:
        return load_arrays(read(fixture.arrays)), load_arrays(read(fixture.reference))
    except (EvidenceMissing, EvidencePrivate):
        return _drawn_again(program, fixture)
    except ArraysRefused as error:
        raise ReproRefused(f"fixture {fixture.name}: {error}") from error


def _drawn_again(program: Program, fixture: Fixture) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """From the fixture's seed. Of a grid the draw alone, which the recorded hashes prove; else all that makes it."""
    unnamed = {value.name for value in program.inputs} - fixture.hashes.keys()
    if unnamed:
        raise ReproRefused(f"fixture {fixture.name}: its arrays are not here, nor the hash of {min(unnamed)}")
    key = f"{program.workload}/{program.shape}/{fixture.name}/{fixture.seed}"
    grid = FAMILY.get({"exact-0": "", "exact-1": ""}.get(fixture.name, fixture.name.removeprefix("exact-")))
    for attempt, factor in enumerate(_TOPS):
        if grid is None:
            break
        try:
            recipe = Exact(msgspec.structs.replace(grid, top=grid.top * factor))
            drawn = draw_decided(program, recipe, key + (f"/{attempt}" if attempt else ""))
        except NotExact:
            break
        made = drawn.inputs, outputs_of(program, drawn.values)
        if hash_arrays({**made[0], **made[1]}) == fixture.hashes:
            return made
    built = build_fixtures(program, [fixture.name], fixture.seed)
    if not built or built[0].hashes != fixture.hashes:
        raise ReproRefused(f"fixture {fixture.name} is not in the store, and made again it is another")
    return built[0].inputs, built[0].reference


def _seen(verdict: Verdict) -> Seen:
    return Seen(output=verdict.output, elements=verdict.elements, mismatches=verdict.mismatches)
