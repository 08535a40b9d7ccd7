"""The numbers that engines print as acceptance, and conversions between them."""

from __future__ import annotations

import numpy as np

from specsim.base import check, limits
from specsim.base.unknown import unknown
from specsim.lengths.blocks import block_efficiency
from specsim.types import Array


@np.errstate(under="ignore")
def survival_hazards(survival: Array) -> Array:
    r"""Return hazards from the shares of blocks that kept draft 1, 2, ..., as some engines print by position.

    .. math:: \alpha_i = \frac{P(n \ge i)}{P(n \ge i - 1)}

    Parameters
    ----------
    survival : array_like, shape (gamma,)
        P(n >= i), i = 1..gamma: not increasing. Feeding them to a formula that wants hazards multiplies twice.

    Returns
    -------
    array, shape (gamma,)
        Hazards; 0 after a position that no block kept.

    Raises
    ------
    ValueError
        An entry outside [0, 1], or one above the one before.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, section 3.1 (a constant hazard).

    Examples
    --------
    >>> survival_hazards([0.8, 0.4, 0.1]).tolist()
    [0.8, 0.5, 0.25]
    """
    s = np.asarray(check.real_values(survival, "survival", 0, 1))
    if s.ndim != 1:
        raise ValueError(f"survival must have shape (gamma,), got {tuple(s.shape)}")
    if (s[1:] > s[:-1]).any():
        i = 1 + int(np.argmax(s[1:] > s[:-1]))
        raise ValueError(f"survival[{i}] is {s[i]}, above {s[i - 1]} before it; P(n >= i) cannot grow with i")
    before = np.concatenate([np.ones(min(len(s), 1), dtype=s.dtype), s[:-1]])
    return s / np.where(before > 0, before, 1)


_MEASURES = ("tau", "kept", "draft_rate", "output_share", "alpha")


@np.errstate(under="ignore")
def convert_acceptance(value: float, *, kind: str, to: str, gamma: int) -> float:
    r"""Translate between the numbers that engines call acceptance.

    .. math:: \text{kept} = \tau - 1, \quad \text{draft\_rate} = \frac{\tau - 1}{\gamma}, \quad
        \text{output\_share} = \frac{\tau - 1}{\tau}, \quad \tau = \frac{1 - \alpha^{\gamma+1}}{1 - \alpha}

    All but alpha are exact for any law of lengths when every block drafts gamma; alpha is the i.i.d. acceptance that
    would give this tau.

    Parameters
    ----------
    value : float
        The number printed.
    kind, to : {"tau", "kept", "draft_rate", "output_share", "alpha"}
        tau: tokens per target call ("mean acceptance length"). kept: drafts kept per call. draft_rate: kept over
        drafted ("acceptance rate" of most engines). output_share: the share of the text that was drafted.
        alpha: acceptance of one draft, the same everywhere.
    gamma : int
        Drafts per block, at least 1.

    Returns
    -------
    float
        The same run in the other measure.

    Raises
    ------
    ValueError
        An unknown measure, gamma below 1, or a value that no run with gamma drafts can have.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, equation 1.

    Examples
    --------
    >>> round(convert_acceptance(0.8, kind="alpha", to="draft_rate", gamma=3), 2)
    0.65
    """
    # Validate the arguments.
    g = check.integer(gamma, "gamma", 1, limits.MAX_GAMMA)
    for name, chosen in (("kind", kind), ("to", to)):
        if chosen not in _MEASURES:
            raise unknown(name, chosen, _MEASURES)
    top = {"tau": g + 1, "kept": g, "draft_rate": 1, "output_share": g / (g + 1), "alpha": 1}[kind]
    v = float(check.scalar(value, f"value ({kind})", f"[{1 if kind == 'tau' else 0}, {top!r}]"))
    if kind == to:
        return v
    # Convert to tau, then from tau.
    tau = {
        "tau": lambda: v,
        "kept": lambda: v + 1,
        "draft_rate": lambda: v * g + 1,
        "output_share": lambda: 1 / (1 - v),
        "alpha": lambda: float(block_efficiency(v, gamma=g)),
    }[kind]()
    return {
        "tau": lambda: tau,
        "kept": lambda: tau - 1,
        "draft_rate": lambda: (tau - 1) / g,
        "output_share": lambda: (tau - 1) / tau,
        "alpha": lambda: _iid(tau, g),
    }[to]()


def _iid(tau: float, gamma: int) -> float:
    """Return the constant acceptance whose blocks of gamma drafts have this tau, by bisection: tau grows with it."""
    if tau <= 1:
        return 0.0
    # Until no number lies between low and high.
    low, high = 0.0, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if float(block_efficiency(middle, gamma=gamma)) < tau else (low, middle)
    return high
