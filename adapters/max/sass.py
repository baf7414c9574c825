"""What the SASS of a kernel says of the products it sums."""

from __future__ import annotations

import re

_OPERATION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*)")
# Multiply-adds from the strongest to the weakest: a kernel that has one of the first is named by it. Of zeros they load
# a constant, by one they add: those are no multiplications. The packed ones of FP16 (HFMA2, HFMA2.MMA) are not among
# them: MAX sums products of FP16 in FP32, so a packed one scales elements or loads a constant.
_FAMILIES = ("HGMMA", "HMMA", "FFMA", "FFMA2")
# MAX's kernels that go over elements, by the names it gives them: whatever they multiply, they contract nothing.
_ELEMENTWISE = re.compile(r"(elementwise|mogg_foreach)_")


def contracting_instruction(name: str, sass: str) -> str:
    """The strongest multiply-add of a kernel that can contract, as it is spelled there; empty where there is none."""
    if _ELEMENTWISE.match(name):
        return ""
    found = [(match[1], match[2]) for match in _OPERATION.finditer(sass)]
    multiplies = [operation for operation, operands in found if operands.count("RZ") < 2 and ", 1, 1," not in operands]
    by_family = {family: [op for op in multiplies if op.split(".")[0] == family] for family in _FAMILIES}
    return next((operations[0] for operations in by_family.values() if operations), "")
