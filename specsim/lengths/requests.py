"""From the law of a block to what a user and a server see: request times with their tails, gaps, ragged batches."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.results import result
from specsim.types import Array


@result("mean_s", "tau")
class RequestLaw(NamedTuple):
    """Law of the number of cycles of one request, and of its time; cycles[k] = P(k cycles), k = 0..tokens.

    Examples
    --------
    >>> law = request_law([0.5, 0.5], 4, cycle_s=0.1)  # 4 tokens in cycles of 1 or 2
    >>> law.cycles.tolist(), round(law.mean_s, 4), round(law.quantile(0.5), 4)
    ([0.0, 0.0, 0.25, 0.625, 0.125], 0.2875, 0.3)
    """

    cycles: Array
    cycle_s: float
    first_s: float

    @property
    def mean_cycles(self) -> Any:
        """E[cycles]."""
        return sum(k * p for k, p in enumerate(self.cycles))

    @property
    def tau(self) -> Any:
        """Tokens per target call of requests of this length: below that of long texts, as the last block is cut."""
        return (len(self.cycles) - 1) / self.mean_cycles

    @property
    def mean_s(self) -> float:
        """Mean seconds of a request."""
        return self.first_s + self.cycle_s * float(self.mean_cycles)

    @property
    def sd_s(self) -> float:
        """Standard deviation of the seconds, from the blocks' lengths alone."""
        mean = self.mean_cycles
        return self.cycle_s * math.sqrt(float(sum((k - mean) ** 2 * p for k, p in enumerate(self.cycles))))

    def quantile(self, share: float) -> float:
        """Seconds that this share of requests stays within: 0.5 for P50, 0.99 for P99."""
        wanted = float(check.scalar(share, "share", "(0, 1]"))
        cdf = np.cumsum(self.cycles.astype(float))
        k = int(np.searchsorted(cdf, wanted - 1e-12))
        return self.first_s + self.cycle_s * min(k, len(cdf) - 1)

    def makespan_s(self, batch: int) -> float:
        """Mean seconds until the last of so many independent requests is done, if cycles stay as long as they are."""
        b = check.integer(batch, "batch", 1)
        cdf = np.cumsum(self.cycles.astype(float))
        return self.first_s + self.cycle_s * float(np.sum(1 - np.minimum(cdf, 1) ** b))


@np.errstate(under="ignore")
def request_law(length_law: Array, tokens: int, *, cycle_s: float, first_s: float = 0.0) -> RequestLaw:
    r"""Law of the time that a request of this many tokens takes.

    .. math:: P(\text{cycles} \le k) = P(N_1 + \dots + N_k \ge T)

    by convolution; the last block is cut at the end. Blocks are independent with one law.

    Parameters
    ----------
    length_law : array_like, shape (gamma+1,)
        Probabilities of n = 0..gamma kept drafts; a block emits N = n + 1 tokens.
    tokens : int
        T, the length of the answer, at least 1.
    cycle_s : float
        Seconds of a cycle.
    first_s : float
        Seconds before the first cycle (reading the prompt).

    Returns
    -------
    RequestLaw
        Mean, standard deviation, quantiles and makespans in seconds; cycles are exact rationals if the law is.

    Raises
    ------
    ValueError
        An invalid probability vector, tokens below 1, or a negative time.

    References
    ----------
    Feller 1968, volume 1, chapter XIII (renewal theory, which gives the mean for long texts).

    Examples
    --------
    >>> law = request_law([0.2, 0.16, 0.64], 256, cycle_s=0.02)
    >>> round(law.mean_s, 2), round(law.sd_s, 3), round(law.quantile(0.99), 2)
    (2.11, 0.068, 2.28)
    """
    law = np.asarray(check.law(length_law, "length_law"))
    if law.ndim != 1:
        raise ValueError(f"length_law must have shape (gamma+1,), got {tuple(law.shape)}")
    t = check.integer(tokens, "tokens", 1, limits.MAX_TOKENS)
    cycle = float(check.scalar(cycle_s, "cycle_s", "[0, inf)"))
    first = float(check.scalar(first_s, "first_s", "[0, inf)"))
    # cycles[k] = P(k cycles); emitted[i]: the request is not done after k cycles, and has i tokens.
    cycles = np.zeros(t + 1, dtype=law.dtype)
    emitted = np.zeros(t, dtype=law.dtype)
    emitted[0] = 1
    for k in range(1, t + 1):
        # ahead[i]: one block later it has i + 1 tokens; with t or more it is done.
        ahead = np.convolve(emitted, law)
        cycles[k] = ahead[t - 1 :].sum()
        emitted = np.concatenate([ahead[:1] * 0, ahead[: t - 1]])
        if not emitted.any():
            break
    return RequestLaw(cycles, cycle, first)


@result("mean_s")
class InterToken(NamedTuple):
    """Law of the time between tokens: 0 inside a block with probability `inside`, a whole cycle otherwise.

    Examples
    --------
    >>> gaps = inter_token_law([0.5, 0.5], cycle_s=0.03)
    >>> round(gaps.mean_s, 3), gaps.quantile(0.99)
    (0.02, 0.03)
    """

    inside: Any
    cycle_s: float

    @property
    def mean_s(self) -> float:
        """Mean seconds per token."""
        return self.cycle_s * float(1 - self.inside)

    def quantile(self, share: float) -> float:
        """Seconds that this share of the gaps stays within."""
        wanted = float(check.scalar(share, "share", "(0, 1]"))
        return 0.0 if wanted <= self.inside else self.cycle_s


@np.errstate(under="ignore")
def inter_token_law(length_law: Array, *, cycle_s: float) -> InterToken:
    r"""Law of the gap between two tokens of a long text, as it is sent out block by block.

    .. math:: P(\text{gap} = 0) = 1 - 1 / \tau, \qquad P(\text{gap} = T_\text{cycle}) = 1 / \tau

    Parameters
    ----------
    length_law : array_like, shape (gamma+1,)
        Probabilities of n = 0..gamma kept drafts.
    cycle_s : float
        Seconds of a cycle.

    Returns
    -------
    InterToken
        The 99 % quantile is a whole cycle unless tau is above 100.

    Raises
    ------
    ValueError
        An invalid probability vector, or a negative time.

    References
    ----------
    Feller 1968, volume 1, chapter XIII (renewal theory).

    Examples
    --------
    >>> inter_token_law([0.0, 1.0], cycle_s=0.03)
    InterToken(mean_s=0.015, inside=0.5, cycle_s=0.03)
    """
    law = np.asarray(check.law(length_law, "length_law"))
    if law.ndim != 1:
        raise ValueError(f"length_law must have shape (gamma+1,), got {tuple(law.shape)}")
    tau = (law * np.arange(1, len(law) + 1)).sum()
    return InterToken(1 - 1 / tau, float(check.scalar(cycle_s, "cycle_s", "[0, inf)")))


@result()
class BatchTokens(NamedTuple):
    """Tokens that a batch emits per cycle: each its own number (continuous), or all the least of them (lockstep).

    Examples
    --------
    >>> batch_tokens([0.5, 0.5], 2)
    BatchTokens(continuous=3, lockstep=2.5)
    """

    continuous: Any
    lockstep: Any


@np.errstate(under="ignore")
def batch_tokens(length_law: Array, batch: int | None = None) -> BatchTokens:
    r"""Tokens per cycle of a batch of independent sequences.

    .. math:: \text{continuous} = \sum_b \tau_b, \qquad
        \text{lockstep} = B \, E\big[\min_b N_b\big] = B \sum_{i=0}^{\gamma} \prod_b P(n_b \ge i)

    Parameters
    ----------
    length_law : array_like, shape (gamma+1,) or (B, gamma+1)
        Probabilities of n = 0..gamma kept drafts, one law for all or one a sequence.
    batch : int, optional
        B, where one law is given.

    Returns
    -------
    BatchTokens
        Expected tokens of the whole batch; exact rationals if the laws are.

    Raises
    ------
    ValueError
        An invalid probability vector, batch below 1, or batch missing, or given beside several laws.

    References
    ----------
    Qian et al. 2024, arXiv:2404.15778 (BASS: ragged batches); the minimum is derived here.

    Examples
    --------
    >>> import specsim
    >>> tokens = batch_tokens(specsim.accepted_length_law(0.8, gamma=4), 8)
    >>> round(float(tokens.continuous) / 8, 3), round(float(tokens.lockstep) / 8, 4)
    (3.362, 1.2014)
    """
    law = np.asarray(check.law(length_law, "length_law"))
    if law.ndim > 2 or (law.ndim == 2) == (batch is not None):
        raise ValueError(f"give batch with one law, or laws of shape (B, gamma+1); got {tuple(law.shape)}, {batch}")
    survival = law[..., ::-1].cumsum(axis=-1)[..., ::-1]
    if batch is not None:
        b = check.integer(batch, "batch", 1)
        return BatchTokens(b * survival.sum(), b * (survival**b).sum())
    return BatchTokens(survival.sum(), len(law) * survival.prod(axis=0).sum())
