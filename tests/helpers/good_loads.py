"""Good calls of what serves requests at a rate; see good_calls.py."""

from __future__ import annotations

from typing import Any

import specsim
from specsim import latency

LONG = {
    "specsim.simulate_requests": ("requests", "runs"),
    "specsim.service_costs": ("output", "limit"),
}


def calls() -> dict[str, dict[str, Any]]:
    """Keyword arguments of a good call, by public name."""
    time, sizes = latency.constant(0.1), {"prompt": 4, "output": 9, "limit": 2}
    plain, fast = (specsim.service_costs(time, 0.8 if g else None, gamma=g, **sizes) for g in (0, 2))
    return {
        "harmful_rate": {"plain": plain, "speculative": fast},
        "largest_rate": {"service": fast, "bound": 9.0, "of": "total"},
        "request_times": {"service": fast, "rate": 0.05},
        "serve_by_choice": {"arrivals": [0.0, 1.0], "ways": [plain, fast], "choose": lambda live: 1},
        "service_costs": {"latency": time, "acceptance": 0.8, "gamma": 2, **sizes},
        "simulate_requests": {"service": fast, "rate": 0.05, "requests": 10, "runs": 2},
        "stable_rate": {"service": fast},
    }
