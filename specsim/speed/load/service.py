"""Costs of one way to decode on a device that many requests share: a prompt to read, then cycles with others."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.latency import LatencyModel
from specsim.lengths.acceptance_record import Acceptance, as_acceptance
from specsim.lengths.blocks import accepted_length_law
from specsim.lengths.hazards import HazardEstimate
from specsim.lengths.requests import request_law
from specsim.types import Array

# Most tokens of one answer: its law of cycles then takes a second.
MAX_OUTPUT = 1 << 14


class Service(NamedTuple):
    """Requests that are alike, and a server that decodes up to `limit` of them together.

    prompt_s: time to read one prompt, which gives the first token; nothing else runs meanwhile. cycle_s: of a cycle of
    1, 2, ..., limit sequences. length_law (gamma+1,): of the drafts kept in a block. cycles (output,): probability that
    an answer takes k cycles, k = 0, 1, ..., with their mean and variance. Times are in `unit`, and rates in requests
    per unit.

    Examples
    --------
    >>> from specsim import latency
    >>> service = service_costs(latency.constant(0.1), 0.8, gamma=3, prompt=64, output=101, limit=4)
    >>> round(service.mean_cycles, 2), [round(c, 1) for c in service.cycle_s]
    (34.29, [1.3, 1.3, 1.3, 1.3])
    """

    prompt_s: Any
    cycle_s: tuple[Any, ...]
    length_law: Array
    cycles: Array
    mean_cycles: Any
    variance_cycles: Any
    unit: str

    @property
    def limit(self) -> int:
        """Most sequences decoded together."""
        return len(self.cycle_s)

    @property
    def output(self) -> int:
        """Tokens of an answer."""
        return len(self.cycles)

    @property
    def demand_s(self) -> list[Any]:
        """Device time per answer where 1, 2, ..., limit are decoded all the time: a prompt, and a share of cycles."""
        return [self.prompt_s + self.mean_cycles * cycle / b for b, cycle in enumerate(self.cycle_s, start=1)]


def service_costs(
    latency: LatencyModel,
    acceptance: Acceptance | Array | HazardEstimate | None = None,
    *,
    gamma: int,
    prompt: int,
    output: int,
    limit: int,
    prompt_s: float | None = None,
) -> Service:
    r"""Return what requests of one size cost a server that speculates with gamma drafts.

    .. math:: T_P = T(P; 1, 0) \left(1 + [\gamma > 0] \frac{T_D(1, 0)}{T(1; 1, 0)}\right), \qquad
        c(b) = T_c(\gamma; b, P + T/2)

    The draft reads the prompt too, and takes the share of the target's time that it takes in a step. Prompts are read
    one by one. Every cycle is priced at the context in the middle of an answer.

    Parameters
    ----------
    latency : LatencyModel
        What passes and steps cost; it has to cover a pass over the prompt, unless prompt_s is given.
    acceptance : float, array_like, HazardEstimate, callable or Acceptance, optional
        As in `predict`; not needed for gamma = 0, plain decoding.
    gamma : int
        Speculation length, at least 0.
    prompt, output : int
        P and T, tokens of every request's prompt and answer, at least 1.
    limit : int
        Most sequences decoded together.
    prompt_s : float, optional
        Time to read a prompt with both models, where it was measured.

    Returns
    -------
    Service
        What `request_times` and `simulate_requests` take.

    Raises
    ------
    ValueError
        A number out of range, gamma above 0 without an acceptance, or whatever the latency model refuses.

    References
    ----------
    Kong et al. 2026, arXiv:2605.15051 (prefill, verification and drafting as parts of a request).

    Examples
    --------
    >>> from specsim import roofline
    >>> times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    >>> plain = service_costs(times, gamma=0, prompt=1024, output=256, limit=32)
    >>> round(1e3 * plain.prompt_s, 1), round(1e3 * plain.cycle_s[0], 2), plain.mean_cycles
    (28.0, 6.22, 255.0)
    """
    check.record(latency, "latency", LatencyModel)
    g = check.integer(gamma, "gamma", 0, limits.MAX_SUMMED)
    p = check.integer(prompt, "prompt", 1, limits.MAX_INTEGER)
    t = check.integer(output, "output", 1, MAX_OUTPUT)
    most = check.integer(limit, "limit", 1, limits.MAX_BATCH)
    if g and acceptance is None:
        raise ValueError(f"gamma is {g}, but no acceptance is given")
    law = np.ones(1) if g == 0 else np.asarray(accepted_length_law(np.array(as_acceptance(acceptance).hazards(g))))
    # The time of a prompt, read by both models.
    if prompt_s is None:
        share = latency.draft(1, 0).value / latency.target(1, 1, 0).value if g else 0.0
        read = latency.target(p, 1, 0).value * (1 + share)
    else:
        read = float(check.scalar(prompt_s, "prompt_s", "[0, inf)"))
    # A cycle by batch, at the context in the middle of an answer.
    middle = p + t // 2
    cycle = tuple(latency.cycle(g, b, middle).value for b in range(1, most + 1))
    return of_parts(read, cycle, law, t, latency.unit)


def of_parts(prompt_s: Any, cycle_s: Sequence[Any], length_law: Array, output: int, unit: str = "s") -> Service:
    """The record from its times and the law of a block, as they are; exact rationals stay exact.

    Examples
    --------
    >>> of_parts(1, [2, 3], np.array([0.5, 0.5]), 3).demand_s
    [4.0, 3.25]
    """
    law = cycle_law(length_law, output)
    mean = sum(k * p for k, p in enumerate(law.tolist()))
    variance = sum((k - mean) ** 2 * p for k, p in enumerate(law.tolist()))
    return Service(prompt_s, tuple(cycle_s), np.asarray(length_law), law, mean, variance, unit)


def cycle_law(length_law: Array, output: int) -> Array:
    """P(k cycles), k = 0..output-1, of an answer whose first token the prompt gave; exact rationals if the law is.

    Examples
    --------
    >>> cycle_law(np.array([0.5, 0.5]), 3).tolist()  # two tokens are left
    [0.0, 0.5, 0.5]
    """
    law = np.asarray(length_law)
    if output == 1:
        return np.array([Fraction(1)] if law.dtype == object else [1.0])
    if len(law) == 1:
        # No drafts: a cycle gives one token.
        certain = np.zeros(output, dtype=law.dtype)
        certain[-1] = law[0]
        return certain
    return request_law(law, output - 1, cycle_s=0.0).cycles
