"""Any-subset speculative decoding: one model drafts several places at once, and judges them in a given order.

Law.         With n of the order's places decoded, k drafts are drawn independently, each from the model's law given
             what is decoded. A second pass gives their laws given the drafts before them, too; a chain rule verifies.
             The first draft's two laws are one, so it is kept. The second pass can score the place behind the drafts as
             well: with `bonus` a round is a chain rule's block; as published a round that keeps all has no token more.
Theorem.     T28: the law along the order is the model's, whatever its conditional laws are; for k >= 2, or with the
             bonus, no more passes than tokens.
Randomness.  One for each draft; then the rule's.
Cost.        Two passes a round; one if a single place is left.
Paper.       Guo and Ermon, arXiv:2504.20456: `tokenwise`, `bonus=False`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import array_namespace, pick
from specsim.base.texts import Asked, alike, copied, empty_text, tokens_like, verified
from specsim.types import Array

EXACT = True
THEOREM = "T28"
PAPER = "arXiv:2504.20456"
CASES = (
    {"slots": 1},
    {"slots": 2},
    {"slots": 2, "bonus": False},
    {"slots": 3, "bonus": False},
)
Prompt = dict[int, int]  # place -> token


class State(NamedTuple):
    """Texts (b, N), filled along an order of their places; between a round's two passes, drafts and their laws."""

    text: Array
    filled: Array  # (b,): places decoded, in that order
    passes: Array  # (b,)
    order: Array  # (b, N): a text's own, for its prompt comes first
    slots: int
    bonus: bool
    laws: Array | None  # (b, k, V): what the drafts were drawn from; None before the round's first pass


def start(
    length: int,
    batch: int = 1,
    *,
    order: Sequence[int] | None = None,
    slots: int = 5,
    bonus: bool = True,
    given: Prompt | Sequence[Prompt] | None = None,
) -> State:
    """Texts of which only what is given is filled.

    Parameters
    ----------
    length, batch : int
        Tokens of each text, and texts.
    order : sequence of int, optional
        The places in the order in which they are filled; those given come first. From left to right by default.
    slots : int
        Drafts of a round, k, at least 1.
    bonus : bool
        Whether the place behind the drafts is scored, too.
    given : dict of int to int, or a sequence of them, optional
        Place -> token, of the prompt: one for all texts, or each text's own. At least one place is left.
    """
    slots = check.integer(slots, "slots", 1, limits.MAX_SUMMED)
    if bonus not in (True, False):
        raise ValueError(f"bonus must be True or False, got {check.shown(bonus)}")
    wanted = [check.integer(n, f"order[{i}]", 0) for i, n in enumerate(range(length) if order is None else order)]
    if sorted(wanted) != list(range(length)):
        raise ValueError(f"order {check.shown(order)} is no permutation of 0..{length - 1}")
    prompts = _prompts({} if given is None else given, length, batch)
    text, own = empty_text(batch, length), empty_text(batch, length)
    for i, prompt in enumerate(prompts):
        own[i] = [p for p in wanted if p in prompt] + [p for p in wanted if p not in prompt]
        for place, token in prompt.items():
            text[i, place] = token
    known = np.array([len(prompt) for prompt in prompts], dtype=np.int64)
    return State(text, known, 0 * known, own, slots, bool(bonus), None)


def _prompts(given: Prompt | Sequence[Prompt], length: int, batch: int) -> list[Prompt]:
    """Each text's prompt; the error names the first that is none."""
    each = {"given": given} if isinstance(given, dict) else {f"given[{i}]": prompt for i, prompt in enumerate(given)}
    for name, prompt in each.items():
        for place, token in check.record(prompt, name, dict).items():
            if check.integer(place, f"a place of {name}", 0) >= length:
                raise ValueError(f"{name} has place {place}; places are 0..{length - 1}")
            check.integer(token, f"{name}[{place}]", 0)
        if len(prompt) == length:
            raise ValueError(f"{name} fills all {length} places: nothing is left to decode")
    prompts = [given] * batch if isinstance(given, dict) else list(given)
    if len(prompts) != batch:
        raise ValueError(f"given holds {len(prompts)} prompts for {batch} texts")
    return prompts


def ask(state: State) -> Asked:
    """The rows of the round's places: given what is decoded, or also the drafts before them."""
    length = state.text.shape[-1]
    reach = int(_reach(state).max(initial=0))
    ranks = np.minimum(state.filled[:, None] + np.arange(reach), length - 1)
    known = np.broadcast_to(state.filled[:, None], ranks.shape) if state.laws is None else ranks
    rank_of = np.argsort(state.order, axis=-1)
    places = np.take_along_axis(state.order, ranks, axis=-1)
    return Asked(state.text, places, rank_of[:, None] < known[..., None])


def uniforms(state: State, rule: ModuleType) -> int:
    """One for each draft, or those of the rule."""
    return state.slots if state.laws is None else int(rule.uniforms(state.slots))


def advance(state: State, rows: Array, rule: ModuleType, u: Array) -> State:
    """Draw the drafts from one pass's rows, or verify them by the next one's."""
    return _drafted(state, rows, u) if state.laws is None else _verified(state, state.laws, rows, rule, u)


def _drafted(state: State, rows: Array, u: Array) -> State:
    """Drafts at the round's places. A text with one place left is done: that draft needs no judge."""
    length, sizes, text = state.text.shape[-1], _drafts(state), copied(tokens_like(state.text, rows))
    live, last = state.filled < length, state.filled == length - 1
    for j in range(rows.shape[1]):
        texts = np.flatnonzero(j < np.maximum(sizes, last))
        text[texts, state.order[texts, state.filled[texts] + j]] = pick(rows[texts, j], u[texts, j])
    return state._replace(text=text, filled=state.filled + last, passes=state.passes + live, laws=rows)


def _verified(state: State, laws: Array, rows: Array, rule: ModuleType, u: Array) -> State:
    length, sizes, text = state.text.shape[-1], _drafts(state), copied(state.text)
    live, filled = state.filled < length, state.filled.copy()
    for size, texts in alike(sizes, live):
        n = state.filled[texts]
        x = state.text[texts[:, None], state.order[texts[:, None], n[:, None] + np.arange(size)]]
        p, q = rows[texts, : size + 1], laws[texts, :size]
        if p.shape[1] == size:  # as published: no place behind the drafts is scored, and none is filled
            p = array_namespace(p).concat([p, p[:, -1:]], axis=1)
        kept, token = verified(rule, p, q, x, u[texts])
        fills = state.bonus | (kept < size)
        where = np.flatnonzero(fills)
        behind = state.order[texts[where], (n + kept)[where]]
        text[texts[where], behind] = token[where]
        filled[texts] = n + kept + fills
    return state._replace(text=text, filled=filled, passes=state.passes + live, laws=None)


def _drafts(state: State) -> Array:
    """Drafts (b,) of the round: with a bonus one place is left for it."""
    return np.clip(state.text.shape[-1] - state.filled - state.bonus, 0, state.slots)


def _reach(state: State) -> Array:
    """Places (b,) of which this pass gives rows."""
    judged = _drafts(state) + state.bonus
    if state.laws is not None:
        return judged
    return np.maximum(_drafts(state), state.filled == state.text.shape[-1] - 1)
