"""A Luminal capture read, or refused with one sentence."""

from __future__ import annotations

import pytest

from tensor_assets_tests.adapters.luminal_bundles import module, write_bundle


@pytest.fixture
def read(tmp_path):
    return lambda **changes: module("bundle").read_bundle(write_bundle(tmp_path / "bundle", **changes))


@pytest.fixture
def refused(read):
    """The sentence with which a changed bundle is refused."""

    def refused(**changes: object) -> str:
        with pytest.raises(module("errors").BundleError) as caught:
            read(**changes)
        return str(caught.value)

    return refused
