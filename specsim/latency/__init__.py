"""Time: one interface, and where its numbers come from (an assumption, measurements, or a device's rates)."""

from specsim.latency.kernels import roofline
from specsim.latency.measured import from_measurements, weight_only
from specsim.latency.model import LatencyModel, Timing, constant, in_one_pass, memory_bound
from specsim.latency.passes import Constants
from specsim.latency.shape import ModelShape
from specsim.latency.tables import Hardware, expected_experts, hardware
from specsim.latency.times.read import read_pass_times
from specsim.latency.times.record import PassTimes, from_pass_times

__all__ = [
    "Constants",
    "Hardware",
    "LatencyModel",
    "ModelShape",
    "PassTimes",
    "Timing",
    "constant",
    "expected_experts",
    "from_measurements",
    "from_pass_times",
    "hardware",
    "in_one_pass",
    "memory_bound",
    "read_pass_times",
    "roofline",
    "weight_only",
]
