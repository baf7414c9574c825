"""The script itself: one file that needs the compiler and NumPy, and says by its exit code whether it reproduces."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_assets.repro.case import Case, Seen
from tensor_assets.repro.reference import variable
from tensor_assets.repro.spellings import spell

REPRODUCED, NOT_REPRODUCED, CANNOT, OTHERWISE = 1, 0, 2, 3
HOST_TARGETS = ("cpu", "sm_90")  # need no device
# How the outcomes that are no numbers show in the process that runs the compiler.
_ENDS = {
    "crashed": "it crashes",
    "unsupported": "the compiler refuses the program",
    "censored": "it does not end within {deadline:.0f} s",
}


def write_script(case: Case) -> str:
    """The text of the script. Raises ReproRefused where compiler, variant or inputs have no standalone form."""
    spelling = spell(case.adapter, case.program, case.variant, case.target)
    known = case.known.lines
    text = "\n".join(known)
    loads = "\n".join(f"    {line}".rstrip() for line in spelling.before.strip().splitlines())
    sections = [
        f"{_heading(case)}\n{_imports(case, text)}\n\n{_constants(case)}",
        _OTHERWISE,
        _HELPERS,
        *([_DRAW] if "integers(" in text else []),
        *([_UNPACK] if "unpacked(" in text else []),
        *([_DEVICE] if _needs_device(case) else []),
        _known(case, known),
        _LOADS.format(loads=loads, cannot=CANNOT),
        spelling.run,
        _main(case),
        _LAST,
    ]
    return "\n\n\n".join(section.strip("\n") for section in sections) + "\n"


def _imports(case: Case, text: str) -> str:
    needed = {"base64": "unpacked(" in text, "ctypes": _needs_device(case), "hashlib": True}
    needed |= {"os": True, "subprocess": case.status in _ENDS, "sys": True, "traceback": True}
    needed |= {"zlib": "unpacked(" in text}
    return "\n".join(f"import {name}" for name, wanted in needed.items() if wanted) + "\n\nimport numpy as np"


def _constants(case: Case) -> str:
    return "\n".join(
        [
            f"INPUTS = {tuple(value.name for value in case.program.inputs)!r}",
            f"OUTPUTS = {case.program.outputs!r}",
            f'INPUTS_SHA256 = "{case.known.inputs_sha256}"',
            f'EXPECTED_SHA256 = "{case.known.expected_sha256}"',
        ]
    )


def _heading(case: Case) -> str:
    pins = " ".join(f"{name}=={version}" for name, version in case.packages.items())
    lines = [
        f"{case.program.workload} × {case.adapter.title}, variant {case.variant}, on {case.target}: {_finding(case)}",
        "",
        *_program_lines(case),
        "",
        "Every value is rounded once, to the dtype it is declared with; products are exact, sums are in FP32.",
        "The inputs are chosen so that no order of adding changes a bit: a right answer has these bits.",
        *_seen_lines(case.seen),
        *([f"Reduced from {case.reduced}."] if case.reduced else []),
        "",
        f"    pip install {pins}" if pins else "    (packages unknown)",
        f"    python {case.name}.py",
        "",
        f"Seen with Python {case.python or 'unknown'}.",
        f"Exit codes: {REPRODUCED} it reproduces, {NOT_REPRODUCED} it does not, {CANNOT} it cannot be run here, "
        f"{OTHERWISE} it fails in another way.",
        *([f"Record {case.record}, fixture {case.fixture}."] if case.record else []),
    ]
    return 'r"""' + "\n".join(line.replace('"""', "'''") for line in lines) + '\n"""\n'


def _needs_device(case: Case) -> bool:
    """Whether an end without a device would look like the one that is to be shown."""
    return case.status in _ENDS and case.target not in HOST_TARGETS


def _finding(case: Case) -> str:
    if case.status == "ok":
        return "right"
    return case.boundary or case.reason or case.status


def _program_lines(case: Case) -> list[str]:
    values = [f"    {v.name}: {v.dtype}{list(v.shape)}" for v in case.program.inputs]
    values += [
        f"    {op.name}: {op.dtype}{list(op.shape)} = {op.op}({', '.join(map(str, op.of))})" for op in case.program.ops
    ]
    return [*values, f"    returned: {', '.join(case.program.outputs)}"]


def _seen_lines(seen: Sequence[Seen]) -> list[str]:
    lines = []
    for one in seen:
        lines.append(f"Seen: {one.mismatches:,} of {one.elements:,} elements of {one.output} differ.")
        lines += [
            f"    {one.output}[{', '.join(map(str, e.place))}] must be {e.expected!r}, was {e.seen!r}"
            for e in one.examples
        ]
    return lines


def _known(case: Case, lines: Sequence[str]) -> str:
    made = {name: variable(name) for name in (*(v.name for v in case.program.inputs), *case.program.outputs)}
    dtypes = {name: "np.float16" if case.program.value(name).dtype == "f16" else "np.float32" for name in made}

    def collected(wanted: Sequence[str]) -> str:
        # In C order: compilers see how an array lies, and some read it as if it lay so.
        return "{" + ", ".join(f'"{name}": {made[name]}.astype({dtypes[name]}, "C")' for name in wanted) + "}"

    return "\n".join(
        [
            "def known():",
            '    """The inputs, and what the outputs must be."""',
            *(f"    {line}" for line in lines),
            f"    inputs = {collected([v.name for v in case.program.inputs])}",
            f"    expected = {collected(case.program.outputs)}",
            "    return inputs, expected",
            "",
            "",
        ]
    )


def _main(case: Case) -> str:
    if case.status in _ENDS:
        end = _ENDS[case.status].format(deadline=case.deadline)
        censored = case.status == "censored"
        ends = _MAIN_ENDS.format(
            said="it fails in another way" if censored else f"reproduced: {end}",
            code=OTHERWISE if censored else REPRODUCED,
            deadline=f"{case.deadline:.0f}",
            censored=censored,
            check=_CHECK_DEVICE if _needs_device(case) else "",
            cannot=CANNOT,
        )
        return _MAIN + ends
    return _MAIN + _MAIN_NUMBERS


_OTHERWISE = f"""\
def fails_otherwise(kind, error, trace):
    traceback.print_exception(kind, error, trace)
    sys.stdout.flush()
    os._exit({OTHERWISE})


sys.excepthook = fails_otherwise  # Python's own exit code for it is 1
"""
_HELPERS = """\
def f16(values):
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float64).astype(np.float16).astype(np.float64)


def f32(values):
    return np.asarray(values, np.float64).astype(np.float32).astype(np.float64)


def sha256(arrays, names, plus_zero):
    digest = hashlib.sha256()
    for name in names:
        array = np.ascontiguousarray(arrays[name])
        digest.update((array + array.dtype.type(0) if plus_zero else array).tobytes())
    return digest.hexdigest()

"""
_DRAW = '''
def integers(key, shape, low, high, skip=0):
    """Uniform integers, the same on every platform: raw words of the Philox generator named by ``key``, scaled."""
    generator = np.random.Philox(key=int.from_bytes(hashlib.sha256(key.encode()).digest()[:16], "little"))
    raw = generator.random_raw(skip + int(np.prod(shape)))[skip:]
    scaled = ((raw >> np.uint64(32)) * np.uint64(high - low + 1)) >> np.uint64(32)
    return scaled.astype(np.float64).reshape(shape) + low

'''
_UNPACK = """
def unpacked(dtype, shape, text):
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype).reshape(shape).astype(np.float64)

"""
_MAIN = """\
def main():
    inputs, expected = known()
    if (sha256(inputs, INPUTS, False), sha256(expected, OUTPUTS, True)) != (INPUTS_SHA256, EXPECTED_SHA256):
        print("cannot be run here: NumPy gives other inputs or expected values than where this was written")
        return 2
"""
_MAIN_NUMBERS = """\
    returned, wrong = run(inputs), 0
    for name in OUTPUTS if returned else ():
        right, output = expected[name], np.asarray(returned[name])
        if (output.shape, output.dtype) != (right.shape, right.dtype):
            print(f"{name} is {output.dtype}{list(output.shape)}, must be {right.dtype}{list(right.shape)}")
            wrong += 1
            continue
        places = np.argwhere(output != right)
        wrong += len(places)
        print(f"{name}: {len(places):,} of {right.size:,} elements differ")
        for place in map(tuple, places[:5].tolist()):
            print(f"    {name}{list(place)} must be {right[place]!s}, is {output[place]!s}")
    print("reproduced" if wrong else "right" if returned else "compiled")
    return 1 if wrong else 0
"""
_MAIN_ENDS = """\
    if "--here" in sys.argv:
{check}        run(inputs)
        return 0
    # In a process of its own, which may die or hang.
    try:
        ended = subprocess.run([sys.executable, __file__, "--here"], timeout={deadline}).returncode
    except subprocess.TimeoutExpired:
        print("reproduced: no end within {deadline} s")
        return 1 if {censored} else 2
    if ended == {cannot}:
        return {cannot}
    print(f"{said} (exit status {{ended}})" if ended else "it ends well")
    return {code} if ended else 0
"""
_DEVICE = """
def device_here():
    count = ctypes.c_int()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0

"""
_CHECK_DEVICE = f"""\
        if not device_here():
            print("cannot be run here: there is no CUDA device")
            return {CANNOT}
"""
_LOADS = """\
try:
{loads}
except ImportError as error:
    print(f"cannot be run here: {{error}}")
    sys.exit({cannot})
"""
_LAST = """\
if __name__ == "__main__":
    sys.exit(main())
"""
