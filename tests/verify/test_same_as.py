"""Rules that are another one under a second name: their laws are equal, on tables that tell other rules apart."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from specsim import discover
from specsim.exact.chain import blocks
from specsim.exact.small_laws import rational_table
from specsim.exact.tree import drawn_trees, kept_law

# Tables on which rules differ whose joint laws differ at all.
SEED = 0
ALIASES = [
    (family, name, alias)
    for family in ("step", "chain", "tree", "coupled")
    for name, rule in discover.rules(family).items()
    if (alias := discover.facts(rule).same_as)
]


def law(family: str, rule: ModuleType) -> Any:
    """Return the exact law of a block of two drafts, or of what is accepted of a tree, and the token after it."""
    rng = np.random.default_rng(SEED)
    target, draft = (rational_table(rng, 2, 2) for _ in range(2))
    if family == "chain":
        return blocks(rule, target, draft, 2)
    return kept_law(rule, target.__getitem__, drawn_trees(draft.__getitem__, (-1, -1, 0), "iid"))


def test_the_aliases_are_these() -> None:
    assert ALIASES == [("chain", "capped", "block"), ("tree", "univer", "lifted")]


@pytest.mark.parametrize(("family", "name", "alias"), ALIASES)
def test_an_alias_has_the_law_of_its_rule(family: str, name: str, alias: str) -> None:
    rule, other = (discover.find(family, one) for one in (name, alias))
    assert law(family, rule) == law(family, other)
    # Another rule of the family has another law here, so that equality says something.
    assert law(family, other) != law(family, discover.find(family, "tokenwise"))
    # One name per law: an alias is not the alias of an alias.
    assert discover.facts(other).same_as is None
