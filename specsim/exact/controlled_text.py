"""The exact law of texts whose blocks a controller ends, by forking every draw of the loop."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.base.arrays import pick
from specsim.control._signals import signals_of
from specsim.exact.chain import Table
from specsim.forking import rational
from specsim.types import Signals

Text = tuple[int, ...]
# Numbers of drafts, one of each block.
Lengths = tuple[int, ...]


def law(
    controller: ModuleType, rule: ModuleType, target: Table, draft: Table, length: int, most: int
) -> dict[Text, Fraction]:
    """Return the law of the first `length` tokens, in blocks of at most `most` drafts that a chain rule verifies."""
    by_text: dict[Text, Fraction] = {}
    for (text, _), mass in outcomes(controller, rule, target, draft, length, most).items():
        by_text[text] = by_text.get(text, Fraction(0)) + mass
    return by_text


def outcomes(
    controller: ModuleType, rule: ModuleType, target: Table, draft: Table, length: int, most: int
) -> dict[tuple[Text, Lengths], Fraction]:
    """Return the law of (text, number of drafts of each block)."""

    def program(fork: rational.Fork) -> tuple[Text, Lengths]:
        """Write one text, with the uniforms of a fork."""
        text, block_lengths = Text(), Lengths()
        state = controller.start(())
        while len(text) < length:
            # A block ends with a token of the target, so at most the others are drafted.
            room = length - len(text) - 1
            state, drafts = _block(controller, state, draft, text, min(most, room), fork)
            num_accepted, token = _verified(rule, target, draft, text, drafts, fork)
            text = (*text, *drafts[:num_accepted], token)
            block_lengths = (*block_lengths, len(drafts))
            state = controller.learn(state, np.asarray(num_accepted), np.asarray(len(drafts)))
        return text, block_lengths

    return rational.law(program)


def drafted(controller: ModuleType, state: Any, draw: Callable[[], Signals], most: int) -> tuple[Any, int]:
    """Return the controller's state after a block, and the block's number of drafts.

    There is a first draft, then one more as long as the controller asks for it, at most `most`.
    `draw` makes one draft and returns its signals.
    """
    functions = discover.controller_facts(controller)
    if functions.block:
        block: tuple[Any, int] = controller.block(state, draw, most)
        return block
    for number in range(1, most + 1):
        signals = draw()
        if functions.see:
            state = controller.see(state, signals)
        if not controller.more(state, signals):
            return state, number
    return state, max(most, 0)


def _block(
    controller: ModuleType, state: Any, draft: Table, text: Text, most: int, fork: rational.Fork
) -> tuple[Any, Text]:
    """Draft one block; return the controller's state, and the drafts that are handed to the rule."""
    drafts: list[int] = []

    def draw() -> Signals:
        """Draw one draft, and return the signals that the controller sees of it."""
        row = draft[(*text, *drafts)]
        token = pick(row[None], fork.uniforms(1))
        drafts.append(int(token[0]))
        return signals_of(row, token[0], np.asarray(len(drafts)))

    state, num_drafts = drafted(controller, state, draw, most)
    return state, tuple(drafts[:num_drafts])


def _verified(
    rule: ModuleType, target: Table, draft: Table, text: Text, drafts: Text, fork: rational.Fork
) -> tuple[int, int]:
    """Verify a block of drafts; return the number accepted, and the token after them."""
    count = len(drafts)
    p = np.array([target[text + drafts[:i]] for i in range(count + 1)])
    q = np.array([draft[text + drafts[:i]] for i in range(count)]).reshape(count, p.shape[-1])
    x = np.array(drafts, dtype=np.int64)
    num_accepted, token = rule.verify(rule.prepare(p[None], q[None]), x[None], fork.uniforms(1, rule.uniforms(count)))
    return int(num_accepted[0]), int(token[0])
