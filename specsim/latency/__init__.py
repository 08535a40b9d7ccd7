"""Time: one interface, and where its numbers come from (an assumption, measurements, or a device's rates)."""

from specsim.latency.kernels import roofline
from specsim.latency.measured import from_measurements, weight_only
from specsim.latency.model import LatencyModel, Timing, constant, in_one_pass, memory_bound
from specsim.latency.passes import Constants
from specsim.latency.shape import ModelShape
from specsim.latency.tables import Hardware, expected_experts, hardware

__all__ = [
    "Constants",
    "Hardware",
    "LatencyModel",
    "ModelShape",
    "Timing",
    "constant",
    "expected_experts",
    "from_measurements",
    "hardware",
    "in_one_pass",
    "memory_bound",
    "roofline",
    "weight_only",
]
