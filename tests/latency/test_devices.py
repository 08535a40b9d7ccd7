"""Devices that people have today: by the names that they type, with the types that they multiply in."""

from __future__ import annotations

import pytest

from specsim.latency import ModelShape, hardware, roofline
from specsim.latency.tables import rows

# Asked for as; named; GB/s; GB; types without a rate.
DEVICES = {
    "gb10": ("GB10 (DGX Spark)", 273, 128, ()),
    "dgx-spark": ("GB10 (DGX Spark)", 273, 128, ()),
    "strix-halo": ("Strix Halo (Ryzen AI Max+ 395)", 256, 128, ("fp8", "fp4")),
    "ryzen-ai-max+-395": ("Strix Halo (Ryzen AI Max+ 395)", 256, 128, ("fp8", "fp4")),
    "m1-ultra": ("Apple M1 Ultra", 800, 128, ("bf16", "int8", "fp8", "fp4")),
    "m3": ("Apple M3", 100, 24, ("bf16", "int8", "fp8", "fp4")),
    "m3-pro": ("Apple M3 Pro", 150, 36, ("bf16",)),
    "m3-ultra": ("Apple M3 Ultra", 819, 512, ("bf16",)),
    "m4-max-32": ("Apple M4 Max (32-core GPU)", 410, 36, ("bf16",)),
    "m4-max-40": ("Apple M4 Max (40-core GPU)", 546, 128, ("bf16",)),
    "m5": ("Apple M5", 153, 32, ("bf16",)),
    "m5-max": ("Apple M5 Max (40-core GPU)", 614, 128, ("bf16",)),
    "rtx-4070": ("RTX 4070", 504.2, 12, ("fp4",)),
    "RTX 4070 Laptop": ("RTX 4070 Laptop GPU", 256, 8, ("fp4",)),
    "RTX 4080 Laptop GPU": ("RTX 4080 Laptop GPU", 432, 12, ("fp4",)),
    "4090-laptop": ("RTX 4090 Laptop GPU", 576, 16, ("fp4",)),
    "4090": ("RTX 4090", 1008, 24, ("fp4",)),
    "5090-laptop": ("RTX 5090 Laptop GPU", 896, 24, ()),
    "rtx-6000-ada": ("RTX 6000 Ada", 960, 48, ("fp4",)),
    "mi325x": ("MI325X", 6000, 256, ("fp4",)),
    "mi355x": ("MI355X", 8000, 288, ()),
}


@pytest.mark.parametrize("asked", DEVICES)
def test_devices_have_their_memory_and_no_types_beside_theirs(asked: str) -> None:
    name, bandwidth, memory, without = DEVICES[asked]
    device = hardware(asked)
    assert (device.name, device.bandwidth, device.memory) == (name, bandwidth * 1e9, memory * 1e9)
    shape = ModelShape.named("qwen3-0.6b")
    for dtype in ("bf16", "fp16", "int8", "fp8", "fp4"):
        if dtype not in without and not name.startswith("Apple"):
            assert device.flops[dtype] > 0
    for dtype in without:
        with pytest.raises(ValueError, match=rf"^dtype '{dtype}' is not in the table for "):
            roofline(shape, shape, device, dtype=dtype)


def test_a_name_of_two_chips_is_refused_with_both() -> None:
    """The parts with fewer cores have slower memory, too."""
    with pytest.raises(ValueError, match=r"could be Apple M4 Max \(40-core GPU\), Apple M4 Max \(32-core GPU\)$"):
        hardware("m4-max")
    with pytest.raises(ValueError, match=r"could be Apple M3 Max \(30-core GPU\), Apple M3 Max \(40-core GPU\)$"):
        hardware("apple-m3-max")


def test_rates_are_dense() -> None:
    """As of the vendors: sparse rates are twice these, and each narrower type at most doubles."""
    for name in rows("hardware"):
        flops = hardware(name).flops
        for narrow, wide in (("fp8", "fp16"), ("fp4", "fp8"), ("int8", "fp16")):
            if narrow in flops and wide in flops and name != "B300-SXM":
                assert flops[narrow] / flops[wide] <= 2.04, (name, narrow)
