"""ROC threshold: that of transformers, which is learned from what was kept of the text so far.

Decision.    One draft more while the probability of the token just drawn is at least eta. After each block eta is the
             threshold that minimises (false positives)/(drafts refused) + 3 (false negatives)/(drafts kept) over all
             drafts of the text whose fate is known: those kept, and the first that was not.
Theorem.     T34, part 1: the text has the target's law; the threshold is a function of earlier blocks.
Cost.        A sort of the text's drafts for each block.
Paper.       transformers, `AssistedCandidateGenerator.update_candidate_strategy`, after Mamou et al., arXiv:2405.04304.
             As there: eta changes once there are more than 5 such drafts, of both kinds; 0 never stops nor learns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.texts import host, tokens_like
from specsim.types import Array, Signals

THEOREM = "T34"
PAPER = "arXiv:2405.04304"
CASES = ({"eta": 0.4}, {"eta": 0.6})
FEW, MISSED = 5, 3  # drafts that are too few to learn from; what a kept draft costs that would not have been made


class State(NamedTuple):
    """eta (...); probabilities (..., i) of this block's drafts; of those before it (..., n), kept (1), not (0) or
    never reached (-1).
    """

    eta: Array
    drawn: Array
    own: Array
    fate: Array


def start(batch: tuple[int, ...] = (), *, eta: float = 0.4) -> State:
    """The first threshold, in [0, 1]."""
    none = np.zeros((*batch, 0))
    return State(np.full(batch, float(check.scalar(eta, "eta", "[0, 1]"))), none, none, none)


def see(state: State, signals: Signals) -> State:
    """This block's probabilities with one more."""
    return state._replace(drawn=np.concatenate([state.drawn, _floats(signals.own)[..., None]], axis=-1))


def more(state: State, signals: Signals) -> Array:
    """Whether (...) to draft once more; ValueError for a loop that did not call `see` after the draft."""
    if not (host(signals.position) == state.drawn.shape[-1]).all():
        raise ValueError("controller 'roc' was not shown the last draft: call `see` after each, before `more`")
    return tokens_like(_floats(signals.own) >= state.eta, signals.own)


def learn(state: State, kept: Array, drafted: Array) -> State:
    """The threshold from all drafts whose fate is known."""
    kept, drafted = host(kept)[..., None], host(drafted)[..., None]
    place = np.arange(state.drawn.shape[-1])
    fate = np.where(place < kept, 1, np.where((place == kept) & (kept < drafted), 0, -1))
    own, fate = (np.concatenate(pair, axis=-1) for pair in ((state.own, state.drawn), (state.fate, fate)))
    eta = state.eta.copy()
    for text in np.ndindex(eta.shape):
        if eta[text]:
            eta[text] = _best(own[text], fate[text], eta[text])
    return State(eta, own[..., :0], own, fate)


def _best(own: Array, fate: Array, old: float) -> float:
    """The threshold of least cost of one text; of several the largest, as in transformers."""
    own, fate = own[fate >= 0], fate[fate >= 0]
    if len(own) <= FEW or not 0 < fate.sum() < len(fate):
        return old
    order = np.argsort(-own, kind="stable")
    own, fate = own[order], fate[order]
    last = np.append(np.diff(own) != 0, True)  # of drafts with one probability
    refused, hit = ((1 - fate).cumsum()[last], fate.cumsum()[last])
    cost = refused / refused[-1] + MISSED * (1 - hit / hit[-1])
    return float(own[last][np.argmin(cost)])


def _floats(w: Array) -> Array:
    return np.asarray(w.cpu() if hasattr(w, "cpu") else w, dtype=np.float64)
