"""Arrays in files: the same bytes everywhere, and nothing believed that a file claims."""

from __future__ import annotations

import hashlib
import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tensor_assets.contract.arrays import hash_array, hash_arrays, load_arrays, save_arrays
from tensor_assets.errors import ArraysRefused

SOME = {"x": np.arange(6, dtype=np.float16).reshape(2, 3), "b": np.array([1.5, -0.0], np.float32)}


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in members.items():
            file.writestr(name + ".npy", data)
    return buffer.getvalue()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def test_the_bytes_are_these_on_every_platform():
    found = hashlib.sha256(save_arrays(None, SOME)).hexdigest()
    assert found == "890aed5e1b8875a56bbb1bc9ef80fbde8b638aac229365631af5f6d3623442d9"


def test_hashes_are_of_meaning_not_of_layout():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    same = [np.asfortranarray(array), array.astype(">f4"), array[::-1][::-1], array.copy()]
    assert {hash_array(other) for other in same} == {hash_array(array)}
    others = [array.reshape(4, 3), array.astype(np.float64), array + 1, array.ravel()]
    assert hash_array(array) not in {hash_array(other) for other in others}
    assert set(hash_arrays(SOME)) == {"x", "b"}


def test_numpy_reads_what_is_written(tmp_path):
    path = tmp_path / "a.npz"
    save_arrays(path, SOME)
    with np.load(path, allow_pickle=False) as found:
        assert list(found) == ["x", "b"]
        np.testing.assert_array_equal(found["x"], SOME["x"])


@given(
    array=hnp.arrays(
        st.sampled_from(["<f2", "<f4", "<f8", "<i4", "|u1", "|b1", ">f4"]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
def test_arrays_come_back_as_they_were(array):
    found = load_arrays(save_arrays(None, {"a": array, "file": array}))
    for name in ("a", "file"):
        assert found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)
        assert hash_array(found[name]) == hash_array(array)


def test_fortran_order_comes_back(tmp_path):
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(load_arrays(archive(a=npy(array)))["a"], array)


GOOD = npy(np.ones((2, 2), np.float16))
REFUSED = {
    "no zip": (b"nothing", "not an .npz"),
    "an empty file": (b"", "not an .npz"),
    "a pickle": (archive(a=npy(np.array([{}], dtype=object))), "dtype"),
    "a structured dtype": (archive(a=npy(np.zeros(2, [("f", "f4")]))), "dtype"),
    "a complex dtype": (archive(a=npy(np.zeros(2, complex))), "dtype"),
    "a name with a path": (archive(**{"../a": GOOD}), "no name"),
    "an absolute name": (archive(**{"/etc/passwd": GOOD}), "no name"),
    "no array": (archive(a=b"text"), "no .npy"),
    "a cut array": (archive(a=GOOD[:-1]), "claims shape"),
    "a longer array": (archive(a=GOOD + b"0"), "claims shape"),
    "a huge claim": (archive(a=GOOD.replace(b"(2, 2)", b"(2, 9999999)")), "no .npy|claims shape"),
    "a negative size": (archive(a=GOOD.replace(b"(2, 2), ", b"(-2, -2),")), "no .npy|claims shape"),
    "code in the header": (archive(a=GOOD.replace(b"'descr'", b"__imp__")), "no .npy"),
    "too many arrays": (archive(**{f"a{index}": GOOD for index in range(300)}), "300 arrays"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_worker_may_send(name):
    data, words = REFUSED[name]
    with pytest.raises(ArraysRefused, match=words):
        load_arrays(data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a.npy", GOOD)
        file.writestr("a.npy", GOOD)
    with pytest.raises(ArraysRefused, match="twice"):
        load_arrays(buffer.getvalue())


def test_a_bomb_is_not_unpacked():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.npy", npy(np.zeros(2**22, np.float16)))
    with pytest.raises(ArraysRefused, match="compressed"):
        load_arrays(buffer.getvalue())


def test_sizes_that_disagree():
    data = bytearray(archive(a=GOOD))
    place = data.rindex(b"PK\x01\x02") + 24  # the uncompressed size in the central directory
    data[place : place + 4] = (2**31).to_bytes(4, "little")
    with pytest.raises(ArraysRefused):
        load_arrays(bytes(data))


@given(data=st.binary(max_size=200), place=st.integers(0, 400))
def test_damage_is_refused_or_harmless(data, place):
    good = bytearray(save_arrays(None, SOME))
    good[place : place + len(data)] = data
    try:
        found = load_arrays(bytes(good))
    except ArraysRefused:
        return
    assert all(isinstance(array, np.ndarray) and not array.dtype.hasobject for array in found.values())


@given(flips=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4))
def test_single_bytes_that_differ_are_refused_or_harmless(flips):
    changed = bytearray(save_arrays(None, SOME))
    for place, byte in flips:
        changed[place % len(changed)] = byte
    try:
        found = load_arrays(bytes(changed))
    except ArraysRefused:
        return
    assert all(isinstance(array, np.ndarray) and not array.dtype.hasobject for array in found.values())


def test_a_directory_that_points_before_the_beginning_is_refused():
    changed = bytearray(save_arrays(None, SOME))
    place = changed.rindex(b"PK\x05\x06") + 16  # where the end record says that the directory begins
    changed[place : place + 4] = (2**32 - 2).to_bytes(4, "little")
    with pytest.raises(ArraysRefused, match=r"not an \.npz file"):
        load_arrays(bytes(changed))


@pytest.mark.parametrize("name", ["", "a b", "../x", "x.npy", "é", "class"])
def test_names_that_cannot_be_saved(name):
    with pytest.raises(ArraysRefused):
        save_arrays(None, {name: np.zeros(1)})


def test_dtypes_that_cannot_be_saved():
    with pytest.raises(ArraysRefused, match="dtype"):
        save_arrays(None, {"x": np.zeros(1, complex)})
