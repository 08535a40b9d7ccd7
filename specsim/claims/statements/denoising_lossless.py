"""A block of text that a diffusion model denoises, with drafts of all places verified from left to right."""

from __future__ import annotations

from itertools import product
from math import prod

from specsim.claims.statements._bank import DRAFT, TARGET, F
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.exact.process_law import fill, text_law
from specsim.types import Array

SOURCE = "arXiv:2605.14305"
STATEMENT = (
    "Denoising that verifies independent drafts against the law given the prefix generates from the joint law, tokens "
    "that are masked again included."
)
_LENGTH = 3

Law = dict[tuple[int, ...], F]


def _model(text: tuple[int, ...]) -> Array:
    """The law after a text: one of two, by the parity of its tokens' sum."""
    return TARGET if sum(text) % 2 else DRAFT


def _masked_again(law: Law, joint: Law, place: int) -> Law:
    """Return the law after the token of a place is masked and drawn from the joint law given all others."""
    after = dict.fromkeys(joint, F(0))
    for text, weight in law.items():
        alike = [
            other
            for other in joint
            if all(i == place or a == b for i, (a, b) in enumerate(zip(text, other, strict=True)))
        ]
        total = sum(joint[other] for other in alike)
        for other in alike:
            after[other] += weight * joint[other] / total
    return after


def _independent(joint: Law) -> Law:
    """Return the law of a text whose places are drawn independently, each from its own marginal."""
    marginals = [
        [sum((w for text, w in joint.items() if text[i] == token), F(0)) for token in range(2)] for i in range(_LENGTH)
    ]
    return {
        text: prod((marginals[i][token] for i, token in enumerate(text)), start=F(1))
        for text in product(range(2), repeat=_LENGTH)
    }


def settle() -> Settled:
    """Compute the verdict on the statement."""
    joint = text_law(_model, length=_LENGTH)
    denoised = fill(_model, "any_subset", length=_LENGTH, params={"slots": _LENGTH})
    masked = [_masked_again(denoised.law, joint, place) for place in range(_LENGTH)]
    holds = denoised.law == joint and all(law == joint for law in masked)
    error = sum(abs(weight - joint[text]) for text, weight in _independent(joint).items()) / 2
    return Settled(
        HOLDS if holds else REFUTED,
        "exactly, over all that can happen (T28), if the model's law given a prefix is that of its joint law. The "
        "paper was read as its abstract, without the formula for the speedup.",
        {
            "passes for 3 tokens": str(denoised.passes),
            "total variation of independent tokens, unverified": str(error),
        },
    )
