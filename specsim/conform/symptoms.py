"""Symptoms of a wrong block, by its parts: the test of each draft, the replacement of a rejected draft, the bonus.

A step emits one token, and nobody knows whether a draft that comes out was accepted or drawn: its
symptom is only how often it comes out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from specsim.conform.cases import Case
from specsim.conform.observation import Observation
from specsim.conform.toys import Text
from specsim.types import Array

# Largest distance that rounding explains.
SMALL = 1e-7
# Text so far -> next token -> mass.
Laws = dict[Text, dict[int, float]]


def symptoms(observation: Observation, *, is_step: bool = False) -> tuple[str, ...] | None:
    """Return the parts of a block that differ from tokenwise rejection, in words; None for trees and frequencies.

    Lossless rules may differ, too: symptoms say where to look in a subject that is convicted, and
    convict nobody.
    """
    case, drafts = observation.case, len(observation.case.parents)
    if observation.evidence == "Monte Carlo" or case.parents != tuple(range(-1, drafts - 1)):
        return None
    phrases = _of_step(observation) if is_step else _of_block(observation, drafts)
    return tuple(phrase for phrase in phrases if phrase)


def _of_step(observation: Observation) -> Iterator[str]:
    """Yield how often the draft comes out, and what comes out otherwise."""
    case, (_, emitted, after) = observation.case, _at(observation, 0)
    overlap, small = float(np.minimum(case.p(()), case.q(())).sum()), max(observation.rounding, SMALL)
    yield how_often("the draft is", emitted, overlap, 1.0, small, "emitted")
    yield _replaced("a token that is not the draft is", case, after, small)
    if math.fsum(mass for text, mass in observation.joint(1).items() if not observation.goal(1).get(text)) > SMALL:
        yield "tokens are emitted that the target excludes"


def _of_block(observation: Observation, drafts: int) -> Iterator[str]:
    """Yield the symptoms of each draft in turn, of the bonus, and of tokens that the target excludes."""
    case, small = observation.case, max(observation.rounding, SMALL)
    # A draft is accepted with the overlap of p and q, and else replaced by a token of (p - q)+.
    for i in range(drafts):
        reached, accepted, after = _at(observation, i)
        total = math.fsum(reached.values())
        if total < SMALL:
            return
        overlap = math.fsum(m * float(np.minimum(case.p(text), case.q(text)).sum()) for text, m in reached.items())
        yield how_often(f"draft {i + 1} is", accepted, overlap, total, small)
        yield _replaced(f"the token after a rejected draft {i + 1} is", case, after, small)

    # The bonus after all drafts.
    _, _, after = _at(observation, drafts)
    if _off(after, case.p) > small:
        yield "the bonus is not from the target's last law"
    possible = observation.goal(case.length)
    if math.fsum(mass for text, mass in observation.joint(case.length).items() if not possible.get(text)) > SMALL:
        yield "tokens are emitted that the target excludes"


def _at(observation: Observation, i: int) -> tuple[dict[Text, float], float, Laws]:
    """Return what happens once i drafts are accepted.

    The masses of at least i accepted drafts, by text; the mass of more than i; the tokens emitted
    after exactly i.
    """
    reached: dict[Text, float] = {}
    after: Laws = {}
    beyond = 0.0
    for answer, mass in observation.law.items():
        if answer.num_accepted < i:
            continue
        text = answer.text[:i]
        reached[text] = reached.get(text, 0.0) + mass
        if answer.num_accepted > i:
            beyond += mass
        elif len(answer.text) > i:
            emitted = after.setdefault(text, {})
            emitted[answer.text[i]] = emitted.get(answer.text[i], 0.0) + mass
    return reached, beyond, after


def how_often(drafts: str, mass: float, overlap: float, total: float, small: float, verb: str = "kept") -> str:
    """Return how the acceptance of drafts is wrong, or an empty text if it is right.

    The drafts, which `drafts` names in the sentence, are reached with the mass `total` and accepted
    with `mass`, which should be `overlap`.
    """
    if abs(mass - overlap) <= small:
        return ""
    if mass <= small:
        return f"{drafts} never {verb}"
    if mass >= total - small:
        return f"{drafts} always {verb}"
    return f"{drafts} {verb} too {'often' if mass > overlap else 'rarely'}"


def _replaced(token: str, case: Case, after: Laws, small: float) -> str:
    """Return how the token that replaces a rejected draft is wrong, or an empty text if it is right.

    `token` names the token in the sentence.
    """

    def residual(text: Text) -> Array:
        """Return (p - q)+ after a text, not normalised; p where that is empty."""
        rest = (case.p(text) - case.q(text)).clip(0)
        return rest if rest.sum() > small else case.p(text)

    if _off(after, residual) <= small:
        return ""
    return f"{token} from the whole target" if _off(after, case.p) <= small else f"{token} not from what is left over"


def _off(after: Laws, law: Any) -> float:
    """Return the distance of emitted tokens from a law that depends on the text, weighted by the mass of each text."""
    total_off = 0.0
    for text, emitted in after.items():
        weights, total = law(text), math.fsum(emitted.values())
        goal = weights / weights.sum()
        total_off += 0.5 * math.fsum(abs(emitted.get(x, 0.0) - total * float(mass)) for x, mass in enumerate(goal))
    return total_off
