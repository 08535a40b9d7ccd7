"""The program extracted from the machine proofs, asked over a pipe: its laws equal specsim's, as rationals, with ==."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.oracle import (
    STEPS,
    Case,
    Grown,
    Oracle,
    block_agrees,
    by_last_token,
    drafted_blocks,
    drafted_paths,
    grown,
    ids,
    labels_agree,
    law_pairs,
    mutant,
    positions,
    rows,
    rule,
    step_agrees,
    texts_agree,
    tree_agrees,
    winner_agrees,
)
from hypothesis import HealthCheck, Phase, assume, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from specsim import expected_kept, expected_tokens, renewal
from specsim.exact.tree import drawn_trees
from specsim.forking import rational
from specsim.lengths.blocks import text_survival
from specsim.verify.chain import tokenwise
from specsim.verify.step import optimal

PROOFS = Path(__file__).parents[2] / "proofs"
MANY = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), database=None)
RULES = ("rejection", "recursive", "recursive_wor", "kseq", "greedy_draft", "spechub", "naive", "greedy")


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    binary = PROOFS / "oracle" / "oracle"
    if shutil.which("coqc"):  # then it must build
        with (PROOFS / "coq" / ".lock").open("w") as lock:  # one worker at a time
            fcntl.flock(lock, fcntl.LOCK_EX)
            made = subprocess.run(["make", "-C", str(PROOFS), "oracle"], capture_output=True, text=True, check=False)
        assert made.returncode == 0, f"coqc is here, but the oracle does not build:\n{made.stderr[-2000:]}"
    elif not binary.exists():
        pytest.skip("no coqc on this machine and no proofs/oracle/oracle: nothing to compare with")
    with subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        yield Oracle(program)
        program.stdin.close()  # type: ignore[union-attr]


def sizes(few: int) -> pytest.MarkDecorator:
    """Cases of a quick run, and 100 of a long one."""
    return pytest.mark.parametrize("examples", [few, pytest.param(100, marks=pytest.mark.slow)])


SIZES = sizes(80)


@SIZES
@pytest.mark.parametrize("name", RULES)
def test_step_rule_is_the_proven_one(oracle: Oracle, name: str, examples: int) -> None:
    module = rule("step", name)

    @settings(MANY, max_examples=examples)
    @given(positions(name))
    def check(case: Case) -> None:
        assert step_agrees(oracle, module, name, case)

    check()


@SIZES
@pytest.mark.parametrize("name", ["tokenwise", "block", "greedy_block"])
def test_chain_rule_is_the_proven_one(oracle: Oracle, name: str, examples: int) -> None:
    module = rule("chain", name)

    @settings(MANY, max_examples=examples)
    @given(drafted_blocks())
    def check(case: Case) -> None:
        assert block_agrees(oracle, module, name, case)
        plan, x = module.prepare(case.p, case.q), np.array(case.drafts, dtype=np.int64)
        u = module.uniforms(len(x))
        law = rational.law(lambda fork: tuple(map(int, module.verify(plan, x, fork.uniforms(u)))))
        proven = oracle.ask(name, case.p.shape[-1], rows(case.p), rows(case.q), ids(x))
        assert law == {divmod(i, case.p.shape[-1]): mass for i, mass in enumerate(proven) if mass}

    check()


@SIZES
def test_what_a_greedy_block_goes_on_with_is_proven(oracle: Oracle, examples: int) -> None:
    module = rule("chain", "greedy_block")

    @settings(MANY, max_examples=examples)
    @given(drafted_blocks())
    def check(case: Case) -> None:
        assert texts_agree(oracle, module, case)

    check()


@SIZES
def test_labels_of_the_optimal_rule_select_the_proven_law(oracle: Oracle, examples: int) -> None:
    @settings(MANY, max_examples=examples)
    @given(st.integers(2, 5).flatmap(law_pairs), st.integers(1, 4))
    def check(pair: Any, num_drafts: int) -> None:
        assert labels_agree(oracle, optimal, *pair, num_drafts)

    check()


@SIZES
def test_optimal_rule_selects_the_proven_law(oracle: Oracle, examples: int) -> None:
    @settings(MANY, max_examples=examples)
    @given(st.integers(2, 3).flatmap(law_pairs), st.integers(1, 3))
    def check(pair: tuple[Any, Any], num_drafts: int) -> None:
        assert winner_agrees(oracle, rule("step", "optimal"), *pair, num_drafts)

    check()


@sizes(100)
def test_tau_of_block_verification(oracle: Oracle, examples: int) -> None:
    @settings(MANY, max_examples=examples)
    @given(st.lists(law_pairs(2), min_size=3, max_size=3), st.integers(0, 3))
    def check(pairs: list[Any], gamma: int) -> None:
        p, q = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        (tau,) = oracle.ask("block_tau", 2, gamma, rows(p), rows(q))
        assert tau == expected_tokens(by_last_token(p), by_last_token(q), gamma=gamma, rule="block")

    check()


@sizes(100)
def test_block_starts_along_a_text(oracle: Oracle, examples: int) -> None:
    @settings(MANY, max_examples=examples)
    @given(drafted_blocks(), st.integers(0, 3))
    def check(case: Case, gamma: int) -> None:
        p, q, text = case.q, case.p[:-1], np.array(case.drafts, dtype=np.int64)  # so that the target can write it
        assume(len(text))
        ratio = np.take_along_axis(q, text[:, None], -1)[:, 0] / np.take_along_axis(p, text[:, None], -1)[:, 0]
        found = renewal(text_survival(tokenwise.survival, ratio, gamma))
        assert oracle.ask("renewal", p.shape[-1], gamma, rows(p), rows(q), ids(text)) == [*found.starts, found.blocks]

    check()


TREES = [(name, scheme) for name in ("tokenwise", "lifted", "target_only", "traversal") for scheme in STEPS]


@sizes(26)
@pytest.mark.parametrize(("name", "scheme"), TREES[:-1])  # traversal verifies no greedy siblings
def test_tree_rule_is_the_proven_one(oracle: Oracle, name: str, scheme: str, examples: int) -> None:
    module = rule("tree", name)

    @settings(MANY, max_examples=examples)
    @given(grown(scheme))
    def check(case: Grown) -> None:
        assert tree_agrees(oracle, module, name, case)

    check()


@sizes(40)
def test_multipath_block_is_the_proven_one(oracle: Oracle, examples: int) -> None:
    module = rule("tree", "multipath_block")

    @settings(MANY, max_examples=examples)
    @given(drafted_paths())
    def check(case: Grown) -> None:
        assert tree_agrees(oracle, module, "multipath_block", case)

    check()


@sizes(100)
def test_tau_of_target_only(oracle: Oracle, examples: int) -> None:
    @settings(MANY, max_examples=examples)
    @given(st.lists(law_pairs(2), min_size=3, max_size=3))
    def check(pairs: list[Any]) -> None:
        """Chosen tokens: two at the root and one below each, or fewer where the draft's support ends."""
        target, draft = by_last_token([pair[0] for pair in pairs]), by_last_token([pair[1] for pair in pairs])
        shape = [-1, -1, 0, 1]
        ((tree, _, _),) = drawn_trees(draft, shape, "deterministic")
        texts: list[tuple[int, ...]] = []
        for token, parent in zip(tree.tokens, tree.parents, strict=True):
            texts.append((*(texts[parent] if parent >= 0 else ()), int(token)))
        nodes = ";".join(ids(text) for text in texts if min(text) >= 0) or "."
        (tau,) = oracle.ask("target_only_tau", 2, 2, rows(pair[0] for pair in pairs), nodes)
        assert tau == 1 + expected_kept(target, draft, rule="target_only", parents=shape, scheme="deterministic")

    check()


WRONG_STEPS = {
    "unnormalised_residual": "rejection",
    "absolute_residual": "rejection",
    "target_instead_of_residual": "rejection",
    "swapped_laws": "rejection",
    "every_draft_against_target": "recursive",
    "wor_draft_not_renormalised": "recursive_wor",
    "greedy_draft_whole_law": "greedy_draft",
    "kseq_residual_of_root": "kseq",
    "spechub_hub_left_in_residual": "spechub",
    "naive_draws_from_draft": "naive",
    "kseq_rho_below_root": "kseq",
}
WRONG_CHAINS = {"improper_law": "tokenwise", "bonus_from_draft": "tokenwise"}
WRONG_TREES = {
    "lifted_node_always_kept": "lifted",
    "one_coin_for_two_levels": "tokenwise",
    "target_only_does_not_stop": "target_only",
    "traversal_keeps_weight": "traversal",
    "traversal_draft_not_renormalised": "traversal",
}
SEARCH = settings(MANY, max_examples=1000, phases=[Phase.generate])  # the first wrong case will do


@pytest.mark.parametrize(("name", "of"), WRONG_STEPS.items())
def test_oracle_catches_a_wrong_step_rule(oracle: Oracle, name: str, of: str) -> None:
    wrong = mutant("step", name)
    find(positions(of), lambda case: not step_agrees(oracle, wrong, of, case), settings=SEARCH)


@pytest.mark.parametrize(("name", "of"), WRONG_CHAINS.items())
def test_oracle_catches_a_wrong_chain_rule(oracle: Oracle, name: str, of: str) -> None:
    wrong = mutant("chain", name)
    find(drafted_blocks(), lambda case: not block_agrees(oracle, wrong, of, case), settings=SEARCH)


@pytest.mark.parametrize(("name", "of"), WRONG_TREES.items())
def test_oracle_catches_a_wrong_tree_rule(oracle: Oracle, name: str, of: str) -> None:
    wrong = mutant("tree", name)
    find(grown("without_replacement"), lambda case: not tree_agrees(oracle, wrong, of, case), settings=SEARCH)


@pytest.mark.parametrize("name", ["multipath_plain_draft_law", "multipath_forgets_lower_paths"])
def test_oracle_catches_a_wrong_rule_of_paths(oracle: Oracle, name: str) -> None:
    wrong = mutant("tree", name)
    find(drafted_paths(), lambda case: not tree_agrees(oracle, wrong, "multipath_block", case), settings=SEARCH)


def test_oracle_tells_tokenwise_from_block(oracle: Oracle) -> None:
    wrong = rule("chain", "tokenwise")
    find(drafted_blocks(), lambda case: not block_agrees(oracle, wrong, "block", case), settings=SEARCH)
    find(drafted_blocks(), lambda case: not block_agrees(oracle, wrong, "greedy_block", case), settings=SEARCH)


def test_oracle_catches_a_greedy_block_that_goes_on_plainly(oracle: Oracle) -> None:
    wrong = mutant("chain", "greedy_block_plain_continuation")
    find(drafted_blocks(), lambda case: not texts_agree(oracle, wrong, case), settings=SEARCH)


def test_oracle_catches_labels_that_never_move(oracle: Oracle) -> None:
    wrong = mutant("step", "nobody_moves")
    find(law_pairs(3), lambda pair: not winner_agrees(oracle, wrong, *pair, 2), settings=SEARCH)
    find(law_pairs(3), lambda pair: not labels_agree(oracle, wrong, *pair, 2), settings=SEARCH)


def test_the_search_finds_nothing_in_a_right_rule(oracle: Oracle) -> None:
    right = rule("step", "rejection")
    with pytest.raises(NoSuchExample):
        find(positions("rejection"), lambda case: not step_agrees(oracle, right, "rejection", case), settings=MANY)
