"""The two partition dimensions, read from the folders that define them."""

import warnings
from typing import NamedTuple

import dagster as dg

from tensor_assets.contract.manifest import load_workloads
from tensor_assets.settings import load_settings
from tensor_assets.workers.adapters import discover

# Partitioned checks and multi-partition mappings are marked preview and beta; what they do here is pinned and tested.
warnings.filterwarnings("ignore", category=dg.BetaWarning)
warnings.filterwarnings("ignore", category=dg.PreviewWarning)

_settings = load_settings()

WORKLOADS = dg.StaticPartitionsDefinition(list(load_workloads(_settings.workloads)))
COMPILERS = dg.StaticPartitionsDefinition(list(discover(_settings.adapters)))
# Dagster sorts the dimensions by name: keys read "tvm|weight_view".
CELLS = dg.MultiPartitionsDefinition({"compiler": COMPILERS, "workload": WORKLOADS})


class Cell(NamedTuple):
    """One workload × one compiler."""

    workload: str
    compiler: str

    @classmethod
    def from_partition(cls, key: str) -> "Cell":
        """From a multi-partition key or from its plain string form, which launches over GraphQL can give."""
        parts = CELLS.get_partition_key_from_str(str(key)).keys_by_dimension
        return cls(workload=parts["workload"], compiler=parts["compiler"])

    @property
    def title(self) -> str:
        return f"{self.workload} | {self.compiler}"

    @property
    def partition(self) -> dg.MultiPartitionKey:
        return dg.MultiPartitionKey({"workload": self.workload, "compiler": self.compiler})


# One dimension of a cell from the one-dimensional assets above it, and back.
ON_WORKLOAD = dg.MultiToSingleDimensionPartitionMapping(partition_dimension_name="workload")
ON_COMPILER = dg.MultiToSingleDimensionPartitionMapping(partition_dimension_name="compiler")
EVERY = dg.AllPartitionMapping()
