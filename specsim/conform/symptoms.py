"""Symptoms of a wrong block, by its parts: the test of each draft, the replacement of a rejected draft, the bonus.

A step emits one token, and nobody knows whether a draft that comes out was kept or drawn: only how often it comes out
is said of it.
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

SMALL = 1e-7  # distances that rounding explains
Laws = dict[Text, dict[int, float]]  # text so far -> next token -> mass


def symptoms(seen: Observation, *, is_step: bool = False) -> tuple[str, ...] | None:
    """Parts of a block that differ from tokenwise rejection, in words; None for trees and frequencies.

    Lossless rules may differ, too: symptoms say where to look in a subject that is convicted, and convict nobody.
    """
    case, drafts = seen.case, len(seen.case.parents)
    if seen.evidence == "Monte Carlo" or case.parents != tuple(range(-1, drafts - 1)):
        return None
    return tuple(phrase for phrase in (_of_step(seen) if is_step else _phrases(seen, drafts)) if phrase)


def _of_step(seen: Observation) -> Iterator[str]:
    """Yield how often the draft comes out, and what comes out otherwise."""
    case, (_, emitted, after) = seen.case, _at(seen, 0)
    overlap, small = float(np.minimum(case.p(()), case.q(())).sum()), max(seen.rounding, SMALL)
    yield how_often("the draft is", emitted, overlap, 1.0, small, "emitted")
    yield _replaced("a token that is not the draft is", case, after, small)
    if math.fsum(mass for text, mass in seen.joint(1).items() if not seen.goal(1).get(text)) > SMALL:
        yield "tokens are emitted that the target excludes"


def _phrases(seen: Observation, drafts: int) -> Iterator[str]:
    case = seen.case
    for i in range(drafts):
        reached, kept, after = _at(seen, i)
        total = math.fsum(reached.values())
        if total < SMALL:
            return
        overlap = math.fsum(m * float(np.minimum(case.p(text), case.q(text)).sum()) for text, m in reached.items())
        yield how_often(f"draft {i + 1} is", kept, overlap, total, max(seen.rounding, SMALL))
        yield _replaced(f"the token after a rejected draft {i + 1} is", case, after, max(seen.rounding, SMALL))
    _, _, after = _at(seen, drafts)
    if _off(after, case.p) > max(seen.rounding, SMALL):
        yield "the bonus is not from the target's last law"
    possible = seen.goal(case.length)
    if math.fsum(mass for text, mass in seen.joint(case.length).items() if not possible.get(text)) > SMALL:
        yield "tokens are emitted that the target excludes"


def _at(seen: Observation, i: int) -> tuple[dict[Text, float], float, Laws]:
    """Mass with which i drafts were kept, by text; with which more were; and the tokens emitted after exactly i."""
    reached: dict[Text, float] = {}
    after: Laws = {}
    kept = 0.0
    for answer, mass in seen.law.items():
        if answer.kept < i:
            continue
        text = answer.text[:i]
        reached[text] = reached.get(text, 0.0) + mass
        if answer.kept > i:
            kept += mass
        elif len(answer.text) > i:
            held = after.setdefault(text, {})
            held[answer.text[i]] = held.get(answer.text[i], 0.0) + mass
    return reached, kept, after


def how_often(what: str, kept: float, overlap: float, total: float, small: float, verb: str = "kept") -> str:
    """Return how the acceptance of a draft is wrong, given the mass that reaches it; nothing if it is the overlap."""
    if abs(kept - overlap) <= small:
        return ""
    if kept <= small:
        return f"{what} never {verb}"
    if kept >= total - small:
        return f"{what} always {verb}"
    return f"{what} {verb} too {'often' if kept > overlap else 'rarely'}"


def _replaced(what: str, case: Case, after: Laws, small: float) -> str:
    def left(text: Text) -> Array:
        rest = (case.p(text) - case.q(text)).clip(0)
        return rest if rest.sum() > small else case.p(text)

    if _off(after, left) <= small:
        return ""
    return f"{what} from the whole target" if _off(after, case.p) <= small else f"{what} not from what is left over"


def _off(after: Laws, law: Any) -> float:
    """Distance of the tokens emitted from a law that depends on the text, weighted by how often it was asked for."""
    off = 0.0
    for text, held in after.items():
        weights, total = law(text), math.fsum(held.values())
        goal = weights / weights.sum()
        off += 0.5 * math.fsum(abs(held.get(x, 0.0) - total * float(v)) for x, v in enumerate(goal))
    return off
