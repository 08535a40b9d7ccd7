"""The pairs that text systems run on: the bundled one and SmolLM2, each with its draft and drafters by name.

A system names the pair of its record as `PAIR`; a `Lab` carries the pair of a run. Trials and tests
run on the bundled pair, which needs no other package.
"""

from __future__ import annotations

from functools import lru_cache

from real.decode.proposer import Drafter
from real.load_pair import load
from real.models.gguf_names import SMOLLM2 as WHEEL
from real.models.gguf_names import smollm2
from real.models.names import BEST_DRAFT, SMOLLM2, TINY_PAIR
from real.named import drafter_named
from real.pair import Pair
from real.papers.lab import writing
from specsim.base.unknown import unknown

NAMES = (TINY_PAIR, SMOLLM2)


@lru_cache(maxsize=2)
def pair_named(name: str) -> Pair:
    """Return a pair in float32; ValueError for an unknown one, or where SmolLM2 is not installed.

    The draft of SmolLM2 is the best one that is shipped for it.
    """
    check_installed(name)
    return writing.pair() if name == TINY_PAIR else load(SMOLLM2, BEST_DRAFT)


def check_installed(name: str) -> None:
    """Refuse a pair that nobody knows, or whose package is not installed."""
    if name not in NAMES:
        raise unknown("pair", name, NAMES, "pairs")
    if name == SMOLLM2:
        smollm2()


def drafter(name: str, drafter_name: str) -> Drafter:
    """Return the drafter of this short name that is shipped for the target of a pair.

    Examples
    --------
    >>> drafter("tiny", "heads").longest
    6
    """
    both = pair_named(name)
    return drafter_named(drafter_name, both.target, both.draft)


def ends(name: str) -> frozenset[int]:
    """Return the tokens that end a text of a pair: none for the bundled pair, whose texts have full length."""
    return frozenset() if name == TINY_PAIR else frozenset([pair_named(name).tokenizer.eos_token_id])


def identity(name: str) -> str:
    """Return what tells the weights and the tokenizer of a pair's target from others."""
    return writing.target_digest() if name == TINY_PAIR else "==".join(WHEEL)


def scale(name: str) -> dict[str, int]:
    """Return the size of a pair: the parameters of its target and its draft, and its vocabulary."""
    both = pair_named(name)
    return {"target": both.target.parameters, "draft": both.draft.parameters, "vocabulary": both.target.vocab_size}
