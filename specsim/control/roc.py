"""ROC threshold: the one of transformers, learned from the drafts of the text so far.

Decision.    One draft more while the probability of the token just drawn is at least eta. After
             each block eta is the threshold that minimises (false positives)/(drafts refused) + 3
             (false negatives)/(drafts accepted) over all drafts of the text whose fate is known:
             those accepted, and the first that was refused.
Theorem.     T34, part 1: the text has the target's law; the threshold is a function of earlier
             blocks.
Cost.        A sort of the text's drafts for each block.
Paper.       transformers, `AssistedCandidateGenerator.update_candidate_strategy`, after Mamou et
             al., arXiv:2405.04304. As in transformers, eta changes once there are more than 5 such
             drafts, accepted and refused ones among them, and an eta of 0 never stops nor learns.
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
# The threshold changes once there are more drafts than this.
FEW = 5
# Weight of false negatives: accepted drafts that the threshold would not have made.
MISSED = 3


class State(NamedTuple):
    """The threshold and the drafts that it is learned from.

    `eta` (...) is the threshold; `drawn` (..., i) holds the probabilities of this block's tokens,
    `earlier` (..., n) those of all blocks before it; `fate` (..., n) is 1 where such an earlier
    draft was accepted, 0 where it was refused, -1 where it was never reached.
    """

    eta: Array
    drawn: Array
    earlier: Array
    fate: Array


def start(batch: tuple[int, ...] = (), *, eta: float = 0.4) -> State:
    """Return the state before the first block; `eta` is the first threshold, in [0, 1]."""
    empty = np.zeros((*batch, 0))
    threshold = float(check.scalar(eta, "eta", "[0, 1]"))
    return State(np.full(batch, threshold), empty, empty, empty)


def see(state: State, signals: Signals) -> State:
    """Return the state after a draft: its token's probability is appended to this block's."""
    newest = _floats(signals.own)[..., None]
    return state._replace(drawn=np.concatenate([state.drawn, newest], axis=-1))


def more(state: State, signals: Signals) -> Array:
    """Return whether (...) to draft once more.

    Raises ValueError if the loop did not call `see` after the draft.
    """
    if not (host(signals.position) == state.drawn.shape[-1]).all():
        raise ValueError("controller 'roc' was not shown the last draft: call `see` after each, before `more`")
    return tokens_like(_floats(signals.own) >= state.eta, signals.own)


def learn(state: State, kept: Array, drafted: Array) -> State:
    """Return the state after a block: the threshold that suits all drafts whose fate is known."""
    # This block's drafts are accepted, the one after them is refused, the rest is never reached.
    accepted, drafted = host(kept)[..., None], host(drafted)[..., None]
    place = np.arange(state.drawn.shape[-1])
    is_refused = (place == accepted) & (accepted < drafted)
    fate = np.where(place < accepted, 1, np.where(is_refused, 0, -1))
    probabilities = np.concatenate([state.earlier, state.drawn], axis=-1)
    fates = np.concatenate([state.fate, fate], axis=-1)

    # A threshold of 0 never stops, and never learns.
    eta = state.eta.copy()
    for text in np.ndindex(eta.shape):
        if eta[text]:
            eta[text] = _best_threshold(probabilities[text], fates[text], eta[text])
    no_drafts = probabilities[..., :0]
    return State(eta, no_drafts, probabilities, fates)


def _best_threshold(probabilities: Array, fate: Array, old: float) -> float:
    """Return the threshold of least cost for one text, from its drafts (n,); `old` with too few drafts.

    Of several with the least cost it is the largest, as in transformers.
    """
    # Drafts whose fate is known: FEW at least, and both accepted and refused ones.
    is_known = fate >= 0
    probabilities, fate = probabilities[is_known], fate[is_known]
    num_accepted = fate.sum()
    if len(probabilities) <= FEW or not 0 < num_accepted < len(fate):
        return old

    # Each probability that occurs is a threshold, the largest first. Of drafts of equal probability
    # the last one counts them all.
    order = np.argsort(-probabilities, kind="stable")
    probabilities, fate = probabilities[order], fate[order]
    is_last_of_equal = np.append(np.diff(probabilities) != 0, True)
    thresholds = probabilities[is_last_of_equal]

    # Drafts at or above each threshold are made: the refused ones among them are false positives.
    # Accepted ones below it are false negatives.
    refused_above, accepted_above = (1 - fate).cumsum()[is_last_of_equal], fate.cumsum()[is_last_of_equal]
    num_refused, num_accepted = refused_above[-1], accepted_above[-1]
    false_positives = refused_above / num_refused
    false_negatives = 1 - accepted_above / num_accepted
    cost = false_positives + MISSED * false_negatives
    return float(thresholds[np.argmin(cost)])


def _floats(w: Array) -> Array:
    """Return an array of any library as a NumPy array of float64."""
    return np.asarray(w.cpu() if hasattr(w, "cpu") else w, dtype=np.float64)
