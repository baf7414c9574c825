"""One campaign and one built site for all tests of the report."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tensor_assets.evidence.public import PublicView
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.report.pages import write_pages
from tensor_assets.report.site import build_site
from tensor_assets_tests.report import campaign

# Every outcome, a hostile name, three targets and a rejected variant are among these.
SOME = ("gemm", "bias", "weight_view", "projection_join", "gated_projections", "softmax", "rmsnorm", "norm_projection")


class Built(NamedTuple):
    """A campaign's store, the pages written from it, and the site built from those."""

    store: EvidenceStore
    pages: Path
    site: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("report")
    store = campaign.fill(str(folder / "store"), SOME)
    pages = write_pages(PublicView(store), folder / "pages", cache=folder / "cache", article="")
    return Built(store, pages, build_site(pages, folder / "site").parent)
