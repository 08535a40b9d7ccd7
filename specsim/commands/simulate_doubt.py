"""Whether the exact value of a simulation and what it measured belong together."""

from __future__ import annotations

from typing import Any

# Expected number of an event that nevertheless does not occur in a run with probability 1e-15.
RARE = 35.0


def disagreement(numbers: dict[str, Any], depth: int) -> str:
    """Return in words that the exact tau lies far outside the measured interval; "" where it does not.

    Far is a whole interval beyond its end, nearly 8 standard errors, and more than events too rare for the run explain.
    """
    tau, exact, blocks = numbers["tau"], numbers["tau_exact"], numbers["blocks"]
    if exact is None or tau["low"] is None or not blocks:
        return ""
    slack = tau["high"] - tau["low"] + RARE * (depth + 1) / blocks
    if tau["low"] - slack <= exact <= tau["high"] + slack:
        return ""
    return (
        f"the exact tau {exact:.4f} lies far outside the measured {tau['low']:.4f} .. {tau['high']:.4f}: "
        "`verify` of the rule does not do what its `transition` or `acceptance` states; try `specsim check`"
    )
