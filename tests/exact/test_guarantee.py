"""`guarantee` convicts what is lossy with several drafts only, and what is lossy after a first token that is right."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.rules import MUTANTS, load

from specsim import guarantee
from specsim.exact.guarantee import require_lossless
from specsim.exact.tree import expected_kept
from specsim.types import Array, TokenTree
from specsim.verify.step import rejection
from specsim.verify.tree import target_only

SEVERAL = ["duplicates_skipped", "every_draft_against_target", "kseq_rho_below_root"]


@pytest.mark.parametrize("name", SEVERAL)
def test_step_rules_that_are_lossy_with_several_drafts(name: str) -> None:
    rule = load(MUTANTS / "step" / f"{name}.py")
    assert guarantee(rule, num_drafts=1).lossless
    assert not guarantee(rule).lossless  # 1, 2 and 3 drafts
    assert not guarantee(rule, num_drafts=2).lossless
    assert not guarantee(rule, num_drafts=9).lossless  # three drafts are tried in their place
    with pytest.raises(ValueError, match=r" is not lossless at temperature 1: p = \("):
        require_lossless(rule, num_drafts=3)


@pytest.mark.parametrize("name", ["bonus_from_draft", "counts_every_pass", "residual_one_row_late"])
def test_lossy_chain_rules(name: str) -> None:
    assert not guarantee(load(MUTANTS / "chain" / f"{name}.py")).lossless


@pytest.mark.parametrize("name", ["target_only_does_not_stop", "lifted_node_always_kept", "paths_not_merged"])
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


def test_laws_of_two_tokens_and_of_three_are_met() -> None:
    """All pairs of laws in thirds: 4 x 4 and 10 x 10; at temperature 0 the targets are 2 and 3 point masses."""
    assert guarantee("rejection").cases == 4 * 4 + 10 * 10
    assert guarantee("rejection", temperature=0).cases == 2 * 4 + 3 * 10


@pytest.mark.parametrize("rule", ["race", "list_race", "ranked_race"])
def test_a_coupled_rule_meets_thirds_of_two_tokens_and_halves_of_three(rule: str) -> None:
    assert guarantee(rule, num_drafts=1).cases == 4 * 4 + 6 * 6
    assert guarantee(rule, num_drafts=1, temperature=0).cases == 2 * 4 + 3 * 6


def test_a_scheme_that_is_not_the_rules_own_is_required_in_vain() -> None:
    require_lossless("recursive_wor", num_drafts=2, scheme="without_replacement")
    with pytest.raises(ValueError, match="'recursive_wor' expects drafts drawn 'without_replacement', not 'iid'"):
        require_lossless("recursive_wor", num_drafts=2, scheme="iid")


def test_trees_are_as_many_as_the_tokens_that_can_be_drawn() -> None:
    """Two of a thousand tokens: 16 trees, not 1000^4."""
    p, q = np.full(1000, 0.0), np.full(1000, 0.0)
    p[[3, 7]], q[[3, 7]] = (0.25, 0.75), (0.5, 0.5)
    tree = {"rule": "tokenwise", "parents": (-1, -1, 0, 1)}
    assert expected_kept(p, q, **tree) == pytest.approx(float(expected_kept(p[[3, 7]], q[[3, 7]], **tree)), abs=1e-12)


def test_the_theorem_of_a_file_of_ones_own_is_its_own_word(tmp_path: Path) -> None:
    """It was quoted as if it were proof: of a rule that is wrong beyond the vocabularies that are enumerated, too."""
    mine = tmp_path / "mine.py"
    source = Path(str(rejection.__file__)).read_text(encoding="utf-8")
    mine.write_text(source)
    assert guarantee("rejection").reason.endswith("; in general by T01")
    assert guarantee(mine).reason.endswith("; no further: that T01 covers it is its own file's word")
    mine.write_text(source.replace('THEOREM = "T01"', 'THEOREM = "open"'))
    assert guarantee(mine).reason.endswith("; no proof carries it further")
