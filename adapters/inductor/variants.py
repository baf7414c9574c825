"""The ways in which this project uses Inductor, and the settings that make them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensor_worker.messages import Variant

from .source import Form

# Keeps a narrowing that the source asks for where Inductor would drop it as a pointless round trip, and keeps Triton
# from contracting a product and a sum.
_CONTRACT: dict[str, Any] = {"emulate_precision_casts": True}
# On a GPU Inductor times two launch shapes of every elementwise kernel, tuned or not. Without that it takes the first
# by rule, and two processes run the same code.
_BY_RULE: dict[str, Any] = {"triton.autotune_pointwise": False}
# "max-autotune" without the CUDA graph around the whole program: an outer graph would hide the launches from the host.
_TUNED: dict[str, Any] = {**_CONTRACT, "max_autotune": True}
_EXPANDED: dict[str, Any] = {**_TUNED, "max_autotune_gemm_search_space": "EXHAUSTIVE"}


@dataclass(frozen=True)
class Configuration:
    variant: Variant
    form: Form
    options: dict[str, Any]


def _configuration(form: Form, options: dict[str, Any], **variant: Any) -> Configuration:
    return Configuration(variant=Variant(**variant), form=form, options=options)


CONFIGURATIONS: dict[str, Configuration] = {
    made.variant.name: made
    for made in (
        _configuration(
            "contract",
            {**_CONTRACT, **_BY_RULE},
            name="default",
            summary="Casts written out around every boundary and kept (emulate_precision_casts); nothing is timed.",
            targets=("cpu", "cuda"),
        ),
        _configuration(
            "contract",
            _TUNED,
            name="tuned",
            summary="As default, with max_autotune over Inductor's default space; no outer CUDA graph.",
            targets=("cuda",),
            deterministic=False,
            rebuilds=True,
        ),
        _configuration(
            "contract",
            _EXPANDED,
            name="expanded",
            summary="As tuned, with the exhaustive space of matrix templates.",
            targets=("cuda",),
            deterministic=False,
            rebuilds=True,
        ),
        _configuration(
            "native",
            _BY_RULE,
            name="addmm",
            summary="Half-precision operators under Inductor's own settings: matmul + bias becomes addmm, which does "
            "not round the projection.",
            targets=("cpu", "cuda"),
            keeps_contract=False,
        ),
    )
}
