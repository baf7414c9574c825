"""The claims that ship: every observation of the sources has one, and the recorded campaign bears out what it can."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensor_assets.campaign.workspace import Workspace
from tensor_assets.claims.claim import Claim
from tensor_assets.claims.judging import Judgement, judge
from tensor_assets.claims.library import Library
from tensor_assets.claims.reading import load_claims
from tensor_assets.claims.vocabulary import require_known
from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.evidence.transfer import import_bundle
from tensor_assets.settings import ROOT

# Ids of the observations that the source documents make.
OBSERVATIONS = """
sem-inductor-mm sem-inductor-casts sem-inductor-view sem-max-ops sem-tinygrad-nomatmul sem-tinygrad-virtual
sem-luminal-eclass sem-luminal-members
plan-inductor-default plan-inductor-tuned plan-inductor-tile plan-inductor-tile-orig plan-inductor-ptx
plan-inductor-round plan-inductor-nobuffer
plan-max-kernels plan-max-layout plan-max-buffer plan-max-sass plan-max-geometry plan-max-routine
plan-tinygrad-default plan-tinygrad-sass plan-tinygrad-beam plan-tinygrad-ptx plan-tinygrad-one plan-tinygrad-round
plan-tvm-kernels plan-tvm-geometry plan-tvm-transpose plan-tvm-sass plan-tvm-replay
plan-luminal-kernels plan-luminal-ffma plan-luminal-fewer
storage-max storage-luminal storage-none public-tinygrad public-tvm public-inductor
join-tolerance join-tinygrad join-midpoint screen-native
launches-affine launches-residual launches-shared launches-rmsnorm
search-tinygrad search-inductor search-luminal search-beam-count
latency-bias latency-weight_view latency-public latency-affine latency-rmsnorm
tuning-affine-tinygrad tuning-affine-inductor affine-tinygrad-geometry affine-tvm-geometry
rmsnorm-tinygrad rmsnorm-inductor rmsnorm-tvm luminal-alternatives luminal-fp16-repair
""".split()  # noqa: SIM905

# What captures of the transposed-weight layer and its neighbours on a Hopper GPU decide.
DECIDED = """
sem-inductor-mm sem-inductor-casts sem-inductor-view sem-max-ops sem-tinygrad-nomatmul sem-tinygrad-virtual
plan-inductor-default plan-max-kernels plan-max-layout plan-max-buffer plan-max-routine
plan-tinygrad-default plan-tinygrad-sass plan-tinygrad-one
plan-tvm-kernels plan-tvm-geometry plan-tvm-transpose plan-tvm-sass plan-tvm-replay
storage-max public-tinygrad public-tvm public-inductor join-tinygrad right-addmm right-exact
""".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def claims() -> dict[str, Claim]:
    return load_claims([ROOT / "fixtures" / "claims"])


@pytest.fixture(scope="module")
def recorded(claims: dict[str, Claim], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Judgement]:
    """Every claim, judged from the campaigns that ship with the project."""
    store = EvidenceStore(tmp_path_factory.mktemp("recorded") / "store")
    for bundle in sorted((ROOT / "fixtures" / "recorded").glob("*.bundle")):
        import_bundle(store, bundle)
    library = Library(PublicView(store))
    return {name: judge(claim, library) for name, claim in claims.items()}


def test_every_observation_of_the_sources_has_its_claim(claims: dict[str, Claim]) -> None:
    assert len(OBSERVATIONS) == 67
    assert set(OBSERVATIONS) <= set(claims)


def test_every_claim_names_programs_shapes_and_compilers_that_exist(claims: dict[str, Claim]) -> None:
    require_known(claims.values(), Workspace())


def test_a_statement_is_one_sentence(claims: dict[str, Claim]) -> None:
    for name, claim in claims.items():
        text = " ".join(claim.statement.split())
        assert text.endswith("."), name
        assert text.count(". ") == 0, name
        assert len(text) < 240, name


@pytest.mark.parametrize("name", DECIDED)
def test_the_recorded_campaign_bears_out(recorded: dict[str, Judgement], name: str) -> None:
    assert recorded[name].verdict == "holds", recorded[name].why


def test_no_claim_about_an_h100_is_decided_by_another_device(recorded: dict[str, Judgement]) -> None:
    for name, judgement in recorded.items():
        devices = {pattern for case in judgement.cases for pattern in case.case.devices}
        if devices == {"NVIDIA H100*"}:
            assert judgement.verdict == "not measured", name
            assert "NVIDIA H100" in judgement.why, name


def test_files_are_read_in_their_order(claims: dict[str, Claim]) -> None:
    assert next(iter(claims)) == "sem-inductor-mm"
    assert [path.name[0] for path in sorted(Path(ROOT / "fixtures" / "claims").glob("*.yaml"))] == list("12345")
