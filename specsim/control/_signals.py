"""Signals of drafts from the rows that they were drawn from, and the lengths of recorded blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import check
from specsim.base.arrays import array_namespace, at
from specsim.base.texts import host
from specsim.control._confidence import TOP
from specsim.discover import Rule
from specsim.types import Array, Signals


def row_signals(rows: Any, tokens: Any, position: Any = 1) -> Signals:
    """Return the numbers that a controller reads of drafts, from the rows that they were drawn from.

    Parameters
    ----------
    rows : array_like, shape (..., V)
        The draft's laws before warping: at temperature 0 a warped row is one-hot, whatever the
        draft knows.
    tokens : array_like of int, shape (...)
        The drafts.
    position : int or array_like of int, shape (...)
        The drafts' places in their blocks, from 1.

    Returns
    -------
    Signals
        `top` (..., 10), the largest probabilities; `entropy` in nats, `position`, and `own`, the
        probability of the draft itself, each (...).

    Raises
    ------
    ValueError
        A row is no law, a token is outside the vocabulary, a position is below 1, or shapes do not
        fit.

    References
    ----------
    Mamou et al., DISCO, arXiv:2405.04304 (ten probabilities, entropy, position).

    Examples
    --------
    >>> signals = row_signals([0.5, 0.0, 0.25, 0.25], 2)
    >>> signals.top[:4].tolist(), round(float(signals.entropy), 4), float(signals.own)
    ([0.5, 0.25, 0.25, 0.0], 1.0397, 0.25)
    """
    q = check.law(rows, "rows")
    x = check.tokens(tokens, "tokens", q.shape[-1], q)
    if tuple(x.shape) != tuple(q.shape[:-1]):
        raise ValueError(f"tokens have shape {tuple(x.shape)}; rows are {tuple(q.shape[:-1])}")
    positions = np.asarray(position)
    if positions.dtype.kind not in "iu" or (positions < 1).any():
        raise ValueError("position must be integers from 1 on")
    return signals_of(q, x, np.broadcast_to(positions, tuple(x.shape)))


def signals_of(q: Array, tokens: Array, position: Array) -> Signals:
    """Return the signals of drafts as `row_signals` does, for checked arguments; Fractions become floats."""
    w = q.astype(np.float64) if q.dtype == object else q
    xp = array_namespace(w)
    # The largest probabilities; a vocabulary of fewer than 10 tokens is filled up with zeros.
    largest = xp.flip(xp.sort(w, axis=-1), axis=-1)[..., :TOP]
    zeros = xp.zeros((*largest.shape[:-1], TOP - largest.shape[-1]), dtype=w.dtype)
    top = xp.concat([largest, check.like(zeros, w)], axis=-1)
    entropy = -xp.sum(w * xp.log(xp.where(w > 0, w, xp.ones_like(w))), axis=-1)
    return Signals(top, xp.asarray(entropy), check.like(position, w), xp.asarray(at(w, tokens)))


def block_lengths(
    controller: Rule,
    recorded: Signals,
    *,
    params: Mapping[str, Any] | None = None,
    kept: Any = None,
) -> Array:
    """Return how many drafts a controller makes in recorded blocks, which were drafted to the end.

    Parameters
    ----------
    controller : str, path or module
        A file of `specsim.control`, or one's own.
    recorded : Signals
        Signals of blocks of gamma drafts: `top` (..., gamma, 10), the others (..., gamma).
    params : mapping, optional
        The controller's parameters by name.
    kept : array_like of int, optional
        Drafts (..., n) accepted in whole blocks. With them the blocks (..., n, gamma) follow each
        other in texts, and the controller learns after each; without them each block is the first
        of its text.

    Returns
    -------
    array
        Integers from 1 to gamma, one for each block.

    Raises
    ------
    ValueError
        The controller is unknown, a parameter is not its own or out of range, or there is no draft.

    References
    ----------
    proofs/T34_control.md.

    Examples
    --------
    >>> rows = [[0.9, 0.1], [0.5, 0.5], [0.9, 0.1]]
    >>> block = row_signals(rows, [0, 0, 0], [1, 2, 3])
    >>> [int(block_lengths("threshold", block, params={"eta": eta})) for eta in (0.4, 0.6)]
    [3, 2]
    """
    # Load the controller, and check the shape of the blocks.
    check.record(recorded, "recorded", Signals)
    module = discover.with_params(discover.find("control", controller), params)
    shape = tuple(recorded.own.shape)
    if not shape or not shape[-1]:
        raise ValueError("recorded must hold at least one draft of each block, on the last axis")

    # Without `kept` each block is the first of its text.
    if kept is None:
        _, lengths = _run_block(module, module.start(shape[:-1]), recorded)
        return lengths
    accepted = check.tokens(kept, "kept", shape[-1] + 1)
    if tuple(accepted.shape) != shape[:-1] or len(shape) < 2:
        raise ValueError(f"kept has shape {tuple(accepted.shape)}; blocks are {shape[:-1]}")

    # With `kept` blocks follow each other. A shorter block accepts no more drafts than it has.
    state, lengths = module.start(shape[:-2]), np.zeros(shape[:-1], dtype=np.int64)
    for j in range(shape[-2]):
        # Block j of every text: `top` (..., gamma, 10), the other signals (..., gamma).
        top, *others = recorded
        block = Signals(top[..., j, :, :], *(w[..., j, :] for w in others))
        state, lengths[..., j] = _run_block(module, state, block)
        accepted_now = np.minimum(host(accepted)[..., j], lengths[..., j])
        state = module.learn(state, accepted_now, lengths[..., j])
    return lengths


def _run_block(module: Any, state: Any, block: Signals) -> tuple[Any, Array]:
    """Show a controller the gamma recorded drafts of a block; return its state and the block's length (...).

    The length is the number of drafts after which the controller first asks for no more.
    """
    has_see, gamma = discover.controller_facts(module).see, block.own.shape[-1]

    # Every block has a first draft. `is_drafting` marks the texts whose block has not stopped.
    length = np.ones(block.own.shape[:-1], dtype=np.int64)
    is_drafting = np.ones(length.shape, dtype=bool)
    top, *others = block
    for i in range(gamma):
        # The signals of draft i: `top` (..., 10), the others (...).
        last_draft = Signals(top[..., i, :], *(w[..., i] for w in others))
        if has_see:
            state = module.see(state, last_draft)
        if i + 1 < gamma:
            is_drafting = is_drafting & host(module.more(state, last_draft)).astype(bool)
            length = np.where(is_drafting, length + 1, length)
    return state, length
