"""Where a kernel stands between the device's arithmetic and its memory: counted work over the traced time.

Work is counted under Nsight Compute; the time is the median of another process that CUPTI traced and nothing replayed.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tensor_assets.records import KernelProfile, Roof
from tensor_assets.sessions.ceilings import Ceilings, Level

# Tensor-core operations are counted as operations, the others as thread instructions: a fused multiply-add is two
# operations, and one FP16 instruction works on two values.
OPERATIONS = {
    "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum": 1,
    "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum": 1,
    "sm__ops_path_tensor_op_hgmma_src_tf32_dst_fp32_sparsity_off.sum": 1,
    "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32_sparsity_off.sum": 1,
    "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16_sparsity_off.sum": 1,
    "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_off.sum": 1,
    "sm__ops_path_tensor_op_hmma_src_tf32_dst_fp32_sparsity_off.sum": 1,
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": 1,
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum": 1,
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 2,
    "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum": 2,
    "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum": 2,
    "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum": 4,
}
BYTES = {"L2": "lts__t_bytes.sum", "HBM": "dram__bytes.sum"}


def operations_of(counters: Mapping[str, float]) -> float | None:
    """Arithmetic of one launch; None where none of its counters could be read."""
    counted = [counters[metric] * weight for metric, weight in OPERATIONS.items() if metric in counters]
    return sum(counted) if counted else None


def placed(kernel: KernelProfile, counters: Mapping[str, float], ceilings: Ceilings) -> KernelProfile:
    """The kernel with its counted operations and its place under the roof of each level whose traffic was counted."""
    operations = operations_of(counters)
    if operations is None:
        return kernel
    roofs = tuple(
        roof
        for level in ceilings.levels
        if (roof := _roof(level, operations, counters.get(BYTES.get(level.name, "")), kernel.duration_ns, ceilings))
    )
    return msgspec.structs.replace(kernel, operations=operations, roofs=roofs)


def _roof(level: Level, operations: float, moved: float | None, duration_ns: float, ceilings: Ceilings) -> Roof | None:
    if not moved or duration_ns <= 0:
        return None
    seconds, intensity = duration_ns / 1e9, operations / moved
    return Roof(
        level=level.name,
        bytes=moved,
        intensity=intensity,
        attainable=min(ceilings.flops_per_second, intensity * level.bytes_per_second),
        # Achieved over attainable, written so that it holds for a copy too, which has no operations.
        share=max(operations / seconds / ceilings.flops_per_second, moved / seconds / level.bytes_per_second),
    )
