import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_assets.errors import DeviceRefused, LauncherMisconfigured
from tensor_assets.launchers import DevicePolicy
from tensor_assets.sessions.nvml import Installed

H100 = Installed(name="NVIDIA H100 80GB HBM3", uuid="GPU-1", driver="580.159.04", memory_bytes=80 << 30)
H200 = Installed(name="NVIDIA H200", uuid="GPU-898ad3e3", driver="580.159.04", memory_bytes=141 << 30)
SLICE = Installed(
    name="NVIDIA H100 80GB HBM3 MIG 1g.10gb", uuid="MIG-7", driver="580.159.04", memory_bytes=10 << 30, mig=True
)


def refusal(policy, *found):
    with pytest.raises(DeviceRefused) as refused:
        policy.allowed(found)
    assert str(refused.value).isprintable()
    return str(refused.value)


def test_h100_means_h100():
    assert DevicePolicy().allowed([H200, H100]) == (H100,)
    assert refusal(DevicePolicy(), H200) == (
        "policy asks for H100; this host has NVIDIA H200 (GPU-898ad3e3). Allow it with accelerators: [H100, H200]"
    )


@pytest.mark.parametrize("name", ["NVIDIA H100 PCIe", "NVIDIA H100 NVL", "simulated NVIDIA H100 80GB HBM3"])
def test_every_h100_is_one(name):
    assert DevicePolicy().allowed([msgspec.structs.replace(H100, name=name)])


@pytest.mark.parametrize("name", ["NVIDIA GH100", "NVIDIA H1000", "NVIDIA H100X", "NVIDIA GH200 480GB", "NVIDIA A100"])
def test_what_only_looks_like_one_is_none(name):
    assert "policy asks for H100" in refusal(DevicePolicy(), msgspec.structs.replace(H100, name=name))


def test_an_allowed_alternative_is_taken_second():
    policy = DevicePolicy(accelerators=("H100", "H200"))
    assert policy.allowed([H200]) == (H200,)
    assert policy.allowed([H200, H100]) == (H100, H200)


def test_a_slice_is_refused_by_name_unless_allowed():
    assert "NVIDIA H100 80GB HBM3 MIG 1g.10gb (a MIG slice) (MIG-7), which is a MIG slice; allow it" in refusal(
        DevicePolicy(), SLICE
    )
    assert DevicePolicy(mig=True).allowed([SLICE]) == (SLICE,)


def test_driver_and_memory():
    assert "has driver 580.159.04, at least 600.1 is asked for" in refusal(DevicePolicy(minimum_driver="600.1"), H100)
    assert DevicePolicy(minimum_driver="580.59").allowed([H100]) == (H100,)
    assert "has 80.0 GiB, at least 90 GiB are asked for" in refusal(DevicePolicy(minimum_memory_gib=90), H100)


def test_no_device_at_all():
    assert refusal(DevicePolicy()) == "policy asks for H100; this host has no GPU that is visible here"


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"accelerators": []}, "policy.accelerators"),
        ({"minimum_driver": "new"}, "'new' is no version"),
        ({"memory": 3}, "memory"),
        ({"exclusive": "perhaps"}, "exclusive"),
    ],
)
def test_a_policy_that_is_none_names_the_field(config, named):
    with pytest.raises(LauncherMisconfigured, match=named):
        DevicePolicy.from_config(config)


@given(st.lists(st.integers(0, 999), min_size=1, max_size=4), st.lists(st.integers(0, 999), min_size=1, max_size=4))
def test_drivers_compare_as_numbers_not_as_text(installed, asked):
    device = msgspec.structs.replace(H100, driver=".".join(map(str, installed)))
    objection = DevicePolicy(minimum_driver=".".join(map(str, asked))).objection(device)
    assert bool(objection) == (installed < asked)
