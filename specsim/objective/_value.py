"""The public entrance of objectives: it checks rows and tokens, then runs the objective's file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specsim import discover
from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.discover import Rule
from specsim.types import Array


def loss(objective: Rule, p: Any, log_q: Any, tokens: Any = None, *, params: Mapping[str, Any] | None = None) -> Array:
    """Return the loss of a draft's rows under an objective; differentiable on torch and JAX.

    Parameters
    ----------
    objective : str, path or module
        A file of `specsim.objective`, or one's own.
    p : array_like, shape (..., V)
        The target's rows.
    log_q : array_like, shape (..., V)
        Logarithms of the draft's rows, as a log-softmax gives them; minus infinity for 0.
    tokens : array_like of int, shape (...), optional
        For sampled objectives: one token for each row, of the draft (of the text, for
        `cross_entropy`).
    params : mapping, optional
        The objective's own parameters.

    Returns
    -------
    array, shape (...)
        A number for each row. For a sampled objective only the gradient has a meaning.

    Raises
    ------
    ValueError
        The objective is unknown, a row is no law, tokens are missing or outside the vocabulary, a
        parameter is not its own or out of range.

    References
    ----------
    proofs/T35_objective.md.

    Examples
    --------
    >>> import numpy as np
    >>> p, q = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]
    >>> {name: round(float(loss(name, p, np.log(q))), 3) for name in ("tvd", "fkl", "rkl", "jsd")}
    {'tvd': 0.4, 'fkl': 0.585, 'rkl': 0.498, 'jsd': 0.125}
    """
    # Find the objective, and check the rows against each other.
    module = discover.with_params(discover.find("objective", objective), params)
    target, logs = check.law(p, "p"), check.array(log_q, "log_q")
    check.last_axis(logs, "log_q")
    check.same_vocabulary(target, logs, "p", "log_q")
    xp = array_namespace(logs)
    if check.concrete(logs):
        check.laws(target, xp.exp(logs), ("p", "exp(log_q)"))
    check.leading("p and log_q", target.shape[:-1], logs.shape[:-1])
    target, logs = xp.broadcast_arrays(target, logs)

    # Check the tokens: one for each row.
    if tokens is not None:
        tokens = check.tokens(tokens, "tokens", target.shape[-1], logs)
        if tuple(tokens.shape) != tuple(logs.shape[:-1]):
            raise ValueError(f"tokens have shape {tuple(tokens.shape)}; rows are {tuple(logs.shape[:-1])}")
    return module.loss(target, logs, tokens)
