"""The project's definitions with another number of cells a run: for measuring, see measure.py."""

import os

from tensor_assets.defs import cells

cells.CELLS_PER_RUN = int(os.environ["VARIED_CELLS_PER_RUN"])

from tensor_assets.definitions import defs  # noqa: E402

__all__ = ["defs"]
