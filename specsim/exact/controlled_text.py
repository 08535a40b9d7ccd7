"""The exact law of texts whose blocks are as long as a controller lets them be, by forking every draw of the loop."""

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


def law(
    controller: ModuleType, rule: ModuleType, target: Table, draft: Table, length: int, most: int
) -> dict[Text, Fraction]:
    """Law of the first `length` tokens, in blocks of at most `most` drafts that a chain rule verifies."""
    out: dict[Text, Fraction] = {}
    for (text, _), mass in outcomes(controller, rule, target, draft, length, most).items():
        out[text] = out.get(text, Fraction(0)) + mass
    return out


def outcomes(
    controller: ModuleType, rule: ModuleType, target: Table, draft: Table, length: int, most: int
) -> dict[tuple[Text, Text], Fraction]:
    """The same together with the drafts of each block."""

    def program(fork: rational.Fork) -> tuple[Text, Text]:
        text, blocks, state = Text(), Text(), controller.start(())
        while len(text) < length:
            state, drafts = _block(controller, state, draft, text, min(most, length - len(text) - 1), fork)
            kept, token = _verified(rule, target, draft, text, drafts, fork)
            text, blocks = (*text, *drafts[:kept], token), (*blocks, len(drafts))
            state = controller.learn(state, np.asarray(kept), np.asarray(len(drafts)))
        return text, blocks

    return rational.law(program)


def drafted(controller: ModuleType, state: Any, draw: Callable[[], Signals], most: int) -> tuple[Any, int]:
    """The state after a block, and its drafts: one more as often as the controller says so, after the first."""
    has = discover.controller_facts(controller)
    if has.block:
        found: tuple[Any, int] = controller.block(state, draw, most)
        return found
    for made in range(1, most + 1):
        told = draw()
        if has.see:
            state = controller.see(state, told)
        if not controller.more(state, told):
            return state, made
    return state, max(most, 0)


def _block(
    controller: ModuleType, state: Any, draft: Table, text: Text, most: int, fork: rational.Fork
) -> tuple[Any, Text]:
    """The state, and the drafts that are handed to the rule."""
    drafts: list[int] = []

    def draw() -> Signals:
        row = draft[(*text, *drafts)]
        token = pick(row[None], fork.uniforms(1))
        drafts.append(int(token[0]))
        return signals_of(row, token[0], np.asarray(len(drafts)))

    state, handed = drafted(controller, state, draw, most)
    return state, tuple(drafts[:handed])


def _verified(
    rule: ModuleType, target: Table, draft: Table, text: Text, drafts: Text, fork: rational.Fork
) -> tuple[int, int]:
    """Drafts kept, and the token after them."""
    count = len(drafts)
    p = np.array([target[text + drafts[:i]] for i in range(count + 1)])
    q = np.array([draft[text + drafts[:i]] for i in range(count)]).reshape(count, p.shape[-1])
    x = np.array(drafts, dtype=np.int64)
    kept, token = rule.verify(rule.prepare(p[None], q[None]), x[None], fork.uniforms(1, rule.uniforms(count)))
    return int(kept[0]), int(token[0])
