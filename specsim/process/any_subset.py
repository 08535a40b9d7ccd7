"""Any-subset speculative decoding: one model drafts several places at once and judges them.

Law.         With n of the order's places decoded, k drafts are drawn independently, each from the
             model's law given what is decoded. A second pass gives their laws given the drafts
             before them, too; a chain rule verifies. The first draft's two laws are one, so it is
             accepted. The second pass can score the place behind the drafts as well: with `bonus` a
             round is a chain rule's block; as published a round that accepts all drafts has no
             token more.
Theorem.     T28: the law along the order is the model's, whatever its conditional laws are; for k
             >= 2, or with the bonus, no more passes than tokens.
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
# The token at each place of a prompt.
Prompt = dict[int, int]


class State(NamedTuple):
    """Texts that are filled along an order of their places.

    `text` (b, N) holds tokens, drafts included; `filled` (b,) is the number of places decoded in
    the order; `passes` (b,) counts passes. `order` (b, N) has each text's places, those of its
    prompt first. `laws` (b, k, V) are the laws that a round's drafts were drawn from, None before
    its first pass.
    """

    text: Array
    filled: Array
    passes: Array
    order: Array
    slots: int
    bonus: bool
    laws: Array | None


def start(
    length: int,
    batch: int = 1,
    *,
    order: Sequence[int] | None = None,
    slots: int = 5,
    bonus: bool = True,
    given: Prompt | Sequence[Prompt] | None = None,
) -> State:
    """Return the state before the first pass: only the prompts are filled.

    Parameters
    ----------
    length, batch : int
        Tokens of each text, and texts.
    order : sequence of int, optional
        The places in the order in which they are filled; places of the prompt come first in any
        case. From left to right by default.
    slots : int
        Drafts of a round, k, at least 1.
    bonus : bool
        Whether the place behind the drafts is scored, too.
    given : dict of int to int, or a sequence of them, optional
        The prompt, as place -> token: one for all texts, or one for each text. It leaves at least
        one place to decode.
    """
    # Check the options.
    slots = check.integer(slots, "slots", 1, limits.MAX_SUMMED)
    if bonus not in (True, False):
        raise ValueError(f"bonus must be True or False, got {check.shown(bonus)}")
    places = range(length) if order is None else order
    places = [check.integer(n, f"order[{i}]", 0) for i, n in enumerate(places)]
    if sorted(places) != list(range(length)):
        raise ValueError(f"order {check.shown(order)} is no permutation of 0..{length - 1}")
    prompts = _prompts({} if given is None else given, length, batch)

    # Write each prompt into its text, and put its places before the others.
    text, orders = empty_text(batch, length), empty_text(batch, length)
    for i, prompt in enumerate(prompts):
        in_prompt = [place for place in places if place in prompt]
        orders[i] = in_prompt + [place for place in places if place not in prompt]
        for place, token in prompt.items():
            text[i, place] = token
    filled = np.array([len(prompt) for prompt in prompts], dtype=np.int64)
    return State(text, filled, 0 * filled, orders, slots, bool(bonus), None)


def _prompts(given: Prompt | Sequence[Prompt], length: int, batch: int) -> list[Prompt]:
    """Return the prompt of each text; raises ValueError that names the first faulty one."""
    # Prompts by the names that errors give them.
    named = {"given": given} if isinstance(given, dict) else {f"given[{i}]": prompt for i, prompt in enumerate(given)}

    # A prompt maps places of the text to tokens, and leaves a place to decode.
    for name, prompt in named.items():
        for place, token in check.record(prompt, name, dict).items():
            if check.integer(place, f"a place of {name}", 0) >= length:
                raise ValueError(f"{name} has place {place}; places are 0..{length - 1}")
            check.integer(token, f"{name}[{place}]", 0)
        if len(prompt) == length:
            raise ValueError(f"{name} fills all {length} places: nothing is left to decode")

    # One prompt is that of all texts.
    prompts = [given] * batch if isinstance(given, dict) else list(given)
    if len(prompts) != batch:
        raise ValueError(f"given holds {len(prompts)} prompts for {batch} texts")
    return prompts


def ask(state: State) -> Asked:
    """Return the rows that the next pass must give, at the round's places.

    In the first pass a place sees what is decoded, in the second also the drafts before it.
    """
    # The round's places (b, n), by their ranks in the order.
    length = state.text.shape[-1]
    num_rows = int(_row_counts(state).max(initial=0))
    ranks = np.minimum(state.filled[:, None] + np.arange(num_rows), length - 1)
    places = np.take_along_axis(state.order, ranks, axis=-1)

    # A place sees the places whose rank is below its number `num_seen` (b, n): in the first pass
    # those that are filled, in the second those before its own rank.
    num_seen = np.broadcast_to(state.filled[:, None], ranks.shape) if state.laws is None else ranks
    # The rank of each place (b, N) is the inverse permutation of the order.
    rank_of = np.argsort(state.order, axis=-1)
    seen = rank_of[:, None, :] < num_seen[:, :, None]
    return Asked(state.text, places, seen)


def uniforms(state: State, rule: ModuleType) -> int:
    """Return the number of uniforms of a pass: one for each draft, or those of the rule."""
    return state.slots if state.laws is None else int(rule.uniforms(state.slots))


def advance(state: State, rows: Array, rule: ModuleType, u: Array) -> State:
    """Return the state after a pass, which draws the round's drafts or verifies them."""
    if state.laws is None:
        return _after_drafting(state, rows, u)
    return _after_verifying(state, state.laws, rows, rule, u)


def _after_drafting(state: State, rows: Array, u: Array) -> State:
    """Return the state after a round's first pass: drafts drawn from `rows` (b, n, V) are at their places.

    A text with one place left is finished here: a second pass would verify its token by the law
    that it was drawn from.
    """
    # One pass of each text that is not finished, and a token of those with one place left.
    length = state.text.shape[-1]
    num_passes = np.where(state.filled < length, 1, 0)
    num_finished = np.where(state.filled == length - 1, 1, 0)

    # Draft j of a text stands at the place whose rank in the order is filled + j.
    text = copied(tokens_like(state.text, rows))
    counts = _row_counts(state)
    for j in range(rows.shape[1]):
        texts = np.flatnonzero(j < counts)
        places = state.order[texts, state.filled[texts] + j]
        text[texts, places] = pick(rows[texts, j], u[texts, j])
    return state._replace(text=text, filled=state.filled + num_finished, passes=state.passes + num_passes, laws=rows)


def _after_verifying(state: State, laws: Array, rows: Array, rule: ModuleType, u: Array) -> State:
    """Return the state after a round's second pass: the accepted drafts and the token after them are filled.

    The drafts were drawn from laws (b, k, V); rows (b, k or k + 1, V) are the target's. Places of
    rejected drafts are drafted again in a later round.
    """
    text, filled = copied(state.text), state.filled.copy()
    live = state.filled < state.text.shape[-1]
    # Texts with equally many drafts are verified together.
    for size, texts in alike(_draft_counts(state), live):
        # Their drafts, which have the ranks n, n + 1, ... in the order, and both laws.
        n = state.filled[texts]
        places = state.order[texts[:, None], n[:, None] + np.arange(size)]
        drafts = state.text[texts[:, None], places]
        p, q = rows[texts, : size + 1], laws[texts, :size]

        # As published, the place behind the drafts is not scored. A rule needs a row there; the
        # token that it draws from this one is dropped.
        if p.shape[1] == size:
            p = array_namespace(p).concat([p, p[:, -1:]], axis=1)
        accepted, token = verified(rule, p, q, drafts, u[texts])

        # Write the token behind the accepted drafts, of the rank n + accepted; without the bonus a
        # text that accepted all of its drafts has none.
        has_token = state.bonus | (accepted < size)
        with_token = np.flatnonzero(has_token)
        place = state.order[texts[with_token], (n + accepted)[with_token]]
        text[texts[with_token], place] = token[with_token]
        filled[texts] = n + accepted + np.where(has_token, 1, 0)

    # Each live text had one pass more.
    num_passes = np.where(live, 1, 0)
    return state._replace(text=text, filled=filled, passes=state.passes + num_passes, laws=None)


def _draft_counts(state: State) -> Array:
    """Return the number (b,) of drafts of the round, at most `slots`: with a bonus one place is left for it."""
    num_bonus = 1 if state.bonus else 0
    places_left = state.text.shape[-1] - state.filled
    return np.clip(places_left - num_bonus, 0, state.slots)


def _row_counts(state: State) -> Array:
    """Return the number (b,) of places for which the next pass gives rows."""
    # The second pass gives rows for the drafts, and with a bonus for the place behind them.
    counts = _draft_counts(state)
    if state.laws is not None:
        return counts + 1 if state.bonus else counts
    # The first gives rows for the drafts. The last place of a text is drawn from its row, too,
    # though with a bonus it does not count as a draft.
    has_one_left = state.filled == state.text.shape[-1] - 1
    return np.where(has_one_left, 1, counts)
