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
    """The state before the first pass: only the prompts are filled.

    Parameters
    ----------
    length, batch : int
        Tokens of each text, and texts.
    order : sequence of int, optional
        The places in the order in which they are filled; those given come first. From left to right
        by default.
    slots : int
        Drafts of a round, k, at least 1.
    bonus : bool
        Whether the place behind the drafts is scored, too.
    given : dict of int to int, or a sequence of them, optional
        Place -> token, of the prompt: one for all texts, or each text's own. At least one place is
        left.
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
    """Each text's prompt, checked; raises ValueError that names the first faulty one."""
    # Name each prompt as errors do.
    named = {"given": given} if isinstance(given, dict) else {f"given[{i}]": prompt for i, prompt in enumerate(given)}

    # Each maps places of the text to tokens, and leaves a place to decode.
    for name, prompt in named.items():
        for place, token in check.record(prompt, name, dict).items():
            if check.integer(place, f"a place of {name}", 0) >= length:
                raise ValueError(f"{name} has place {place}; places are 0..{length - 1}")
            check.integer(token, f"{name}[{place}]", 0)
        if len(prompt) == length:
            raise ValueError(f"{name} fills all {length} places: nothing is left to decode")

    # One prompt serves all texts.
    prompts = [given] * batch if isinstance(given, dict) else list(given)
    if len(prompts) != batch:
        raise ValueError(f"given holds {len(prompts)} prompts for {batch} texts")
    return prompts


def ask(state: State) -> Asked:
    """The rows that the next pass must give, at the round's places.

    In the first pass they see what is decoded, in the second also the drafts before them.
    """
    # The round's places (b, n), by their ranks in the order.
    length = state.text.shape[-1]
    num_rows = int(_row_counts(state).max(initial=0))
    ranks = np.minimum(state.filled[:, None] + np.arange(num_rows), length - 1)
    places = np.take_along_axis(state.order, ranks, axis=-1)

    # A place sees all places of a rank below this number (b, n).
    num_seen = np.broadcast_to(state.filled[:, None], ranks.shape) if state.laws is None else ranks
    rank_of = np.argsort(state.order, axis=-1)
    return Asked(state.text, places, rank_of[:, None] < num_seen[..., None])


def uniforms(state: State, rule: ModuleType) -> int:
    """The number of uniforms of a pass: one for each draft, or those of the rule."""
    return state.slots if state.laws is None else int(rule.uniforms(state.slots))


def advance(state: State, rows: Array, rule: ModuleType, u: Array) -> State:
    """The state after a pass: it draws the round's drafts, or verifies them."""
    if state.laws is None:
        return _after_drafting(state, rows, u)
    return _after_verifying(state, state.laws, rows, rule, u)


def _after_drafting(state: State, rows: Array, u: Array) -> State:
    """The state after a round's first pass: drafts, drawn from `rows`, stand at the round's places.

    A text with one place left is finished here: a second pass would judge its token by the law that
    it is drawn from.
    """
    length = state.text.shape[-1]
    text = copied(tokens_like(state.text, rows))
    live, is_last = state.filled < length, state.filled == length - 1

    # With a bonus the last place is not counted as a draft; it is drawn all the same.
    counts = np.maximum(_draft_counts(state), is_last)
    for j in range(rows.shape[1]):
        # Draft j of a text stands at its place of the rank filled + j in the order.
        texts = np.flatnonzero(j < counts)
        places = state.order[texts, state.filled[texts] + j]
        text[texts, places] = pick(rows[texts, j], u[texts, j])
    return state._replace(text=text, filled=state.filled + is_last, passes=state.passes + live, laws=rows)


def _after_verifying(state: State, laws: Array, rows: Array, rule: ModuleType, u: Array) -> State:
    """The state after a round's second pass: accepted drafts count as filled, and the token after them.

    The drafts were drawn from laws (b, k, V); rows (b, k or k + 1, V) are the target's. Places of
    rejected drafts are drafted again in a later round.
    """
    length, text = state.text.shape[-1], copied(state.text)
    live, filled = state.filled < length, state.filled.copy()
    for size, texts in alike(_draft_counts(state), live):
        # Texts with `size` drafts, which have the ranks n, n + 1, ... in the order, and both laws.
        n = state.filled[texts]
        places = state.order[texts[:, None], n[:, None] + np.arange(size)]
        drafts = state.text[texts[:, None], places]
        p, q = rows[texts, : size + 1], laws[texts, :size]

        # As published, the place behind the drafts is not scored. A rule needs a row there; the
        # token that it draws from this one is dropped.
        if p.shape[1] == size:
            p = array_namespace(p).concat([p, p[:, -1:]], axis=1)
        accepted, token = verified(rule, p, q, drafts, u[texts])

        # Write the token behind the accepted drafts; without the bonus a text that accepted all of
        # its drafts has none.
        has_token = state.bonus | (accepted < size)
        where = np.flatnonzero(has_token)
        behind = state.order[texts[where], (n + accepted)[where]]
        text[texts[where], behind] = token[where]
        filled[texts] = n + accepted + has_token
    return state._replace(text=text, filled=filled, passes=state.passes + live, laws=None)


def _draft_counts(state: State) -> Array:
    """Number (b,) of drafts of the round, at most `slots`: with a bonus one place is left for it."""
    return np.clip(state.text.shape[-1] - state.filled - state.bonus, 0, state.slots)


def _row_counts(state: State) -> Array:
    """Number (b,) of places of which the next pass gives rows."""
    # The second pass gives rows of the drafts, and with a bonus of the place behind them.
    if state.laws is not None:
        return _draft_counts(state) + state.bonus
    # The first gives rows of the drafts, or of the last place of a text.
    return np.maximum(_draft_counts(state), state.filled == state.text.shape[-1] - 1)
