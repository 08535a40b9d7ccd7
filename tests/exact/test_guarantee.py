"""`guarantee` convicts what is lossy with several drafts only, and what is lossy after a first token that is right."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.rules import MUTANTS, load

from specsim import guarantee
from specsim.exact.guarantee import require_lossless
from specsim.types import Array, TokenTree
from specsim.verify.tree import target_only

pytestmark = pytest.mark.fast

SEVERAL = ["duplicates_skipped", "every_draft_against_target", "kseq_rho_below_root"]


@pytest.mark.parametrize("name", SEVERAL)
def test_step_rules_that_are_lossy_with_several_drafts(name: str) -> None:
    rule = load(MUTANTS / "step" / f"{name}.py")
    assert guarantee(rule).lossless
    assert not guarantee(rule, num_drafts=2).lossless
    assert not guarantee(rule, num_drafts=9).lossless  # three drafts are tried in their place
    with pytest.raises(ValueError, match=r" is not lossless at temperature 1: p = \("):
        require_lossless(rule, num_drafts=3)


@pytest.mark.parametrize("name", ["bonus_from_draft", "counts_every_pass", "residual_one_row_late"])
def test_lossy_chain_rules(name: str) -> None:
    assert not guarantee(load(MUTANTS / "chain" / f"{name}.py")).lossless


@pytest.mark.parametrize("name", ["target_only_does_not_stop", "lifted_node_always_kept"])
def test_lossy_tree_rules(name: str) -> None:
    assert not guarantee(load(MUTANTS / "tree" / f"{name}.py"), family="tree").lossless


def right_at_first() -> ModuleType:
    """The target's own walk, whose rows below the root are those of other tokens."""

    def prepare(p: Array, q: Array, tree: TokenTree) -> Any:
        return target_only.prepare(np.concatenate([p[..., :1, :], p[..., 1:, ::-1]], axis=-2), q, tree)

    own = ModuleType("right_at_first")
    vars(own).update(vars(target_only), prepare=prepare)
    return own


def test_the_first_token_alone_does_not_acquit() -> None:
    found = guarantee(right_at_first(), family="tree", scheme="iid")
    assert not found.lossless
    assert "iid trees of shape" in found.reason
