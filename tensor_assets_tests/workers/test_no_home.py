"""An id without an account and without HOME, as containers run under, is nobody's fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensor_assets.evidence.identity import identity_of
from tensor_assets.settings import load_settings
from tensor_assets.workers.pip_settings import index_of_pip


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", refuse)


def test_settings_have_their_defaults() -> None:
    assert load_settings({}).cache.is_absolute()
    assert load_settings({"TENSOR_ASSETS_CACHE": "/somewhere"}).cache == Path("/somewhere")


def test_there_is_no_home_to_look_for_in_what_is_published() -> None:
    assert identity_of({}).homes == ()


def test_pip_has_no_settings_of_its_own() -> None:
    index_of_pip({})
