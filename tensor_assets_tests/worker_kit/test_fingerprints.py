"""Equal for the same code, different for different code, whatever paths, dates and addresses say."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensor_worker.artifacts import Launch, Plan
from tensor_worker.fingerprint import fingerprint
from tensor_worker.normalize import code_sha256, normalize

LAUNCH = Launch(
    kind="kernel", name="matmul", grid=(8, 8, 1), block=(32, 16, 1), shared_bytes=1024, code_sha256="a" * 64
)


def plan(*launches: Launch) -> Plan:
    return Plan(launches=launches)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "library"},
        {"grid": (8, 16, 1)},
        {"block": (32, 8, 1)},
        {"shared_bytes": 2048},
        {"code_sha256": "b" * 64},
    ],
)
def test_code_and_geometry_move_the_fingerprint(change):
    assert fingerprint(plan(LAUNCH)) != fingerprint(plan(msgspec.structs.replace(LAUNCH, **change)))


@pytest.mark.parametrize("change", [{"name": "other"}, {"registers": 90}, {"computes": ("p",)}, {"stage": "code"}])
def test_what_is_told_about_known_code_does_not(change):
    assert fingerprint(plan(LAUNCH)) == fingerprint(plan(msgspec.structs.replace(LAUNCH, **change)))


def test_where_the_code_is_not_in_our_hands_the_name_counts():
    one, other = Launch(kind="library", name="gemm_128x64"), Launch(kind="library", name="gemm_64x64")
    assert fingerprint(plan(one)) != fingerprint(plan(other))


def test_order_and_number_of_launches_count():
    other = msgspec.structs.replace(LAUNCH, grid=(1, 1, 1))
    plans = [plan(LAUNCH, other), plan(other, LAUNCH), plan(LAUNCH), plan(LAUNCH, LAUNCH)]
    assert len({fingerprint(each) for each in plans}) == len(plans)


def ptx(folder: str, code: str = "add.f16 %r1, %r2;", line: int = 7) -> str:
    """As Triton writes it, compiled in ``folder``."""
    named = "".join(f".b8 {byte}\n" for byte in folder.encode())
    return f"""\
{{
	.loc	1 {line} 19                          // kernel.py:{line}:19
	{code}
	ret;
}}
	.file	1 "{folder}/kernel.py"
	.section	.debug_abbrev
	{{
.b8 1                                   // Abbreviation Code
	}}
	.section	.debug_info
	{{
.b32 {len(folder)}                      // Length of Unit
{named}.b8 0
	}}
	.section	.debug_macinfo	{{	}}
"""


def assembler(folder: str, code: str = "vaddps %ymm0, %ymm1, %ymm2") -> str:
    return f"""\
	.file	1 "{folder}" "kernel.py"
	.loc	1 3 0
	{code}
	.section	.debug_str,"MS",@progbits,1
.Linfo_string0:
	.asciz	"{folder} (with blanks)"
	.section	.rodata
	.quad	42
"""


SAME = [
    ("ptx", ptx("/tmp/capture-a1b2c3d4/nx"), ptx("/home/jane/.cache/scratch/jq", line=9)),
    ("asm", assembler("/tmp/a b/x"), assembler("/home/jane")),
    ("cpp", '#include "/tmp/torchinductor_root/2r/a.h"\nx = a[i];', '#include "/home/me/cache/9z/a.h"\nx = a[i];'),
    ("python", "# AOT ID: ['0_inference'] 2026-11-03\ny = x + 1", "# another comment\ny = x + 1"),
    ("python", "load('/root/.cache/x.so')  # pid=4242", "load('/var/tmp/y/x.so')  # pid=17"),
    ("text", "<Kernel object at 0x7f12ab34cd56>", "<Kernel object at 0x55aabbccddee>"),
    ("text", "built 2026-11-03T10:11:12.123Z", "built 2025-01-02T03:04:05Z"),
    ("text", "built Tue Nov  3 10:11:12 2026", "built Fri Jan 12 01:02:03 2024"),
    ("ptx", "// Compiler Build ID: CL-1\nadd.f16 %r1, %r2;", "// Compiler Build ID: CL-2\nadd.f16 %r1, %r2;"),
    ("llvm", "; ModuleID = 'a'\nfadd half %1, %2   ", "; ModuleID = 'b'\n\nfadd half %1, %2"),
    ("text", "in tmpab12cd_x now", "in tmpzz98yy_w now"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "one", "other"), SAME)
def test_circumstances_are_taken_out(language, one, other):
    assert code_sha256(one, language) == code_sha256(other, language)


DIFFERENT = [
    ("ptx", ptx("/tmp/x"), ptx("/tmp/x", code="mul.f16 %r1, %r2;")),
    ("ptx", ptx("/tmp/x"), ptx("/tmp/x") + ".func after()"),
    ("ptx", ".global .align 1 .b8 t[2] = {1, 2};", ".global .align 1 .b8 t[2] = {1, 3};"),
    ("asm", assembler("/tmp/x"), assembler("/tmp/x", code="vmulps %ymm0, %ymm1, %ymm2")),
    ("asm", assembler("/tmp/x"), assembler("/tmp/x").replace("42", "43")),
    ("c", "x = a / b / c;", "x = a / b / d;"),
    ("c", "x = n/b/c;", "x = n/b/d;"),
    ("c", "y = (a)/b/c;", "y = (a)/b/d;"),
    ("cuda", "int bits = 0x3f800000;", "int bits = 0x40000000;"),
    ("llvm", "fadd double %1, 0x3FF0000000000000", "fadd double %1, 0x4000000000000000"),
    ("c", "#pragma unroll 4\nx;", "#pragma unroll 8\nx;"),
    ("c", "#define N 4", "#define N 8"),
    ("c", "char tile[16];", "char tile[32];"),
    ("ptx", "mov.b32 %r1, 0f3F800000;", "mov.b32 %r1, 0f40000000;"),
    ("sass", "HMMA.16816.F32 R4, R8, R12, R4 ;", "HMMA.16816.F16 R4, R8, R12, R4 ;"),
    ("c", "for (i = 0; i < 10; i++) tmptotals += i;", "for (i = 0; i < 10; i++) tmpresult += i;"),
    ("python", "tl.store(out_ptr0 + (x0), tmp2, None)", "tl.store(out_ptr0 + (x0), tmp3, None)"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "one", "other"), DIFFERENT)
def test_code_is_left_alone(language, one, other):
    assert code_sha256(one, language) != code_sha256(other, language)


@given(st.text(), st.sampled_from(["c", "python", "text", "llvm", "ptx", "asm"]))
def test_normalizing_twice_changes_nothing_more(text, language):
    once = normalize(text, language)
    assert normalize(once, language) == once
