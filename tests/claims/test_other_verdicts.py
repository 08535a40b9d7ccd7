"""Were what a statement is computed with otherwise, its verdict would be, too; and parts of statements by hand."""

from __future__ import annotations

from fractions import Fraction as F
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from specsim.claims.statements import (
    _bank,
    _verdict,
    batch_budget_best,
    block_optimal,
    chain_loss,
    delayed_gain,
    denoising_lossless,
    drafters_from_target,
    eal_product,
    greedy_block_change,
    greedy_certificate,
    heap_tree_best,
    hierarchical_gain,
    kl_or_acceptance,
    kseq_guarantee,
    kseq_rho,
    markov_head_helps,
    more_drafts_help,
    one_pass_decay,
    order_of_drafts,
    parallel_marginals_best,
    pooled_acceptance,
    race_bound,
    sequoia_optimal,
    tokenizers_lossless,
    transferred_lossless,
    traversal_above_transport,
    unimodal_budget,
    without_replacement_never_hurts,
)

MODULES = (
    batch_budget_best, block_optimal, chain_loss, delayed_gain, denoising_lossless, drafters_from_target, eal_product,
    greedy_block_change, greedy_certificate, heap_tree_best, hierarchical_gain, kl_or_acceptance, kseq_rho,
    markov_head_helps, more_drafts_help, one_pass_decay, order_of_drafts, parallel_marginals_best, pooled_acceptance,
    race_bound, sequoia_optimal, tokenizers_lossless, transferred_lossless, traversal_above_transport,
    unimodal_budget, without_replacement_never_hurts,
)  # fmt: skip
CASE = _bank.Case(_bank.TARGET, _bank.DRAFT, F(0), F(1))
LOSSLESS, LOSSY = SimpleNamespace(token_distance=0, tokens_per_call=1), SimpleNamespace(token_distance=F(1, 8))


class Once:
    """Call a function; change the result of one call."""

    def __init__(self, function: Any, change: Any, at: int = 0) -> None:
        self.function, self.change, self.left = function, change, at

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        found = self.function(*arguments, **options)
        self.left -= 1
        return self.change(found) if self.left == -1 else found


def slower(budget: Any) -> Any:
    return budget._replace(speed=budget.speed / 2)


def elsewhere(law: dict[Any, F]) -> dict[Any, F]:
    """All of a law's mass on the first of its texts."""
    return {text: F(not i) for i, text in enumerate(law)}


def of_three_drafts(p: Any, q: Any, *, rule: str, gamma: int) -> F:
    """The optimum for three drafts, and nothing for other numbers of them."""
    return 1 + block_optimal.most(p, q, 3) if gamma == 3 else F(0)


def race_bound_of(p: Any, q: Any) -> F:
    """The bound on the agreement of two races."""
    distance = sum(abs(p - q)) / 2
    return F((1 - distance) / (1 + distance))


def only(**wanted: Any) -> Any:
    """A function of laws that is 1 where its options are these, and else 0."""
    return lambda p, q, **options: F(int(options == wanted))


def by_drafts(p: Any, q: Any, *, rule: str, num_drafts: int) -> F:
    """Recursive rejection that loses by a third draft, and by no other; importance sampling that never does."""
    return F((0, 0, 1, 0, 5)[num_drafts]) if rule == "recursive" else F(1)


# Module, name that it uses, what stands in its place, and the verdict then.
OTHERWISE: list[tuple[Any, str, Any, str]] = [
    # One budget of 512 that is not the best, the first and the last.
    (batch_budget_best, "batch_budget", Once(batch_budget_best.batch_budget, slower), "refuted"),
    (batch_budget_best, "batch_budget", Once(batch_budget_best.batch_budget, slower, 511), "refuted"),
    # No pair is against it; no pair is for it.
    (delayed_gain, "smallest", Once(lambda *a: CASE, lambda case: None), "holds"),
    (delayed_gain, "smallest", Once(lambda *a: CASE, lambda case: None, 1), "refuted"),
    (traversal_above_transport, "smallest", Once(lambda *a: CASE, lambda case: None), "holds"),
    (traversal_above_transport, "smallest", Once(lambda *a: CASE, lambda case: None, 1), "refuted"),
    # What is denoised, or what one place is masked to, has another law.
    (denoising_lossless, "fill", lambda *a, **k: SimpleNamespace(law={}, passes=1), "refuted"),
    (denoising_lossless, "_masked_again", Once(denoising_lossless._masked_again, elsewhere), "refuted"),
    (denoising_lossless, "_masked_again", Once(denoising_lossless._masked_again, elsewhere, 2), "refuted"),
    (drafters_from_target, "_estimate", Once(drafters_from_target._estimate, lambda x: x / 2, 1), "refuted"),
    (drafters_from_target, "_estimate", Once(drafters_from_target._estimate, lambda x: x / 2, 2), "refuted"),
    # Products of either kind are the mean; of neither.
    (eal_product, "_lengths", lambda blocks: (F(1), F(1), F(1)), "holds"),
    (eal_product, "_lengths", Once(eal_product._lengths, lambda x: (x[0], x[1], x[2] / 2)), "refuted"),
    (eal_product, "_lengths", Once(eal_product._lengths, lambda x: (x[0], x[1], x[2] / 2), 1), "refuted"),
    # One rejected draft is nearer than the bound; one target of two tokens has a greater bound.
    (greedy_certificate, "_kl", lambda p, q: 1e-3 if max(p) == F(2, 3) else 1.0, "refuted"),
    (greedy_certificate, "_bound", Once(greedy_certificate._bound, lambda x: x + 1, 1), "refuted"),
    (heap_tree_best, "best_by_hand", Once(heap_tree_best.best_by_hand, lambda x: x + 1, 15), "refuted"),
    (kl_or_acceptance, "_has_less_kl", lambda *a: False, "not decidable here"),
    (markov_head_helps, "taus", lambda *a: (F(2), F(2)), "holds"),
    (markov_head_helps, "taus", lambda *a: (F(2), F(3)), "holds"),
    (one_pass_decay, "_target", lambda text: np.array([F(1, 2), F(1, 2)]), "holds"),
    (parallel_marginals_best, "expected_tokens", lambda *a, **k: F(3), "holds under"),
    (pooled_acceptance, "_SECOND", (2, 9), "holds"),
    # The means alone are equal; the pooled values alone.
    (pooled_acceptance, "_SECOND", (2, 3), "holds"),
    (pooled_acceptance, "_SECOND", (5, 5), "refuted"),
    (tokenizers_lossless, "across_tokenizers", Once(lambda *a, **k: LOSSLESS, lambda x: LOSSY, 3), "refuted"),
    (transferred_lossless, "across_tokenizers", lambda *a, **k: LOSSLESS, "holds"),
    (transferred_lossless, "across_tokenizers", Once(lambda *a, **k: LOSSLESS, lambda x: LOSSY, 1), "holds under"),
    (unimodal_budget, "has_one_peak", Once(unimodal_budget.has_one_peak, lambda x: False, 399), "refuted"),
    # One value that is not that of exact match; one above rejection.
    (chain_loss, "_values", Once(chain_loss._values, lambda v: v._replace(chain=v.chain / 2)), "refuted"),
    (chain_loss, "_values", Once(chain_loss._values, lambda v: v._replace(kept=F(0)), 99), "refuted"),
    (chain_loss, "_preferred", lambda: None, "holds"),
    # Block verification of three drafts is the optimum; it is below it by less than a draft.
    (block_optimal, "expected_tokens", of_three_drafts, "holds"),
    (block_optimal, "expected_tokens", lambda *a, **k: of_three_drafts(*a, **k) - F(1, 100), "refuted"),
    # The target need not change: no bias with two drafts; a bias with one, for one pair of many.
    (greedy_block_change, "bias", lambda *a: F(0), "refuted"),
    (greedy_block_change, "bias", lambda p, q, gamma: F(int(gamma == 2 or p[0] > q[0])), "refuted"),
    # Passes rise for some pairs, fall for some; fall or stay; stay. Hits are equal.
    (kseq_rho, "passes", lambda p, q, rho: rho if p[0] > q[0] else -rho, "refuted"),
    (kseq_rho, "passes", lambda p, q, rho: F(0) if p[0] > q[0] else -rho, "holds under"),
    (kseq_rho, "passes", lambda *a: F(0), "refuted"),
    (kseq_rho, "hits", lambda *a: F(1, 2), "refuted"),
    # One pair with a gain; a gain with three drafts and with no other number.
    (hierarchical_gain, "gain", lambda p, q: F(int(p[0] > q[0])), "holds under"),
    (hierarchical_gain, "expected_tokens", only(rule="capped", gamma=3), "holds under"),
    # A third draft that changes nothing, and one that costs.
    (more_drafts_help, "acceptance_rate", lambda *a, **k: F(1), "holds"),
    (more_drafts_help, "acceptance_rate", by_drafts, "refuted"),
    # Races that agree as often as the bound says, and a little less.
    (race_bound, "agreement", race_bound_of, "holds"),
    (race_bound, "agreement", lambda p, q: race_bound_of(p, q) - F(1, 1000), "refuted"),
    # Ranks for which the best tree is a star of three.
    (sequoia_optimal, "RANKS", np.array([F(1, 3)] * 3), "holds"),
    # Two drafts with replacement have the better optimum, or the better recursion.
    (without_replacement_never_hurts, "optimal_acceptance", only(num_drafts=2, scheme="iid"), "refuted"),
    (without_replacement_never_hurts, "acceptance_rate", only(rule="recursive", num_drafts=2), "refuted"),
    # No order is biased; the order drawn is, for some pairs.
    (order_of_drafts, "bias", lambda *a: F(0), "refuted"),
    (order_of_drafts, "bias", lambda p, q, likely: F(int(likely or p[0] > q[0])), "refuted"),
]


@pytest.mark.parametrize(
    ("module", "name", "other", "verdict"),
    OTHERWISE,
    ids=[f"{i}-{row[0].__name__.rpartition('.')[2]}" for i, row in enumerate(OTHERWISE)],
)
def test_the_verdict_follows(module: Any, name: str, other: Any, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, name, other)
    assert module.settle()[0] == verdict
    assert verdict in _verdict.VERDICTS


def test_every_module_is_asked() -> None:
    assert {module for module, *_ in OTHERWISE} == set(MODULES)


def test_one_masked_place_is_drawn_given_the_others() -> None:
    """By hand: two coins that differ two times of three, from a text that is certain."""
    joint = {(0, 0): F(1, 6), (0, 1): F(2, 6), (1, 0): F(2, 6), (1, 1): F(1, 6)}
    certain = {(0, 0): F(1)}
    assert denoising_lossless._masked_again(certain, joint, 0) == {
        (0, 0): F(1, 3),
        (1, 0): F(2, 3),
        (0, 1): 0,
        (1, 1): 0,
    }
    assert denoising_lossless._masked_again(certain, joint, 1) == {
        (0, 0): F(1, 3),
        (0, 1): F(2, 3),
        (1, 0): 0,
        (1, 1): 0,
    }


def test_accuracies_of_blocks_by_hand() -> None:
    assert eal_product._lengths(((1, 1, 0), (1, 0, 1))) == (F(3, 2), 1 + F(1, 2) + F(1, 4), F(3, 2))
    assert eal_product._lengths(((0, 0),)) == (0, 0, 0)


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [
        ({2: F(3, 4), 3: F(19, 27)}, "holds"),
        ({2: F(3, 4) - kseq_guarantee.SLACK, 3: F(1)}, "holds"),
        ({2: F(3, 4) - 2 * kseq_guarantee.SLACK, 3: F(1)}, "refuted"),
        ({2: F(1), 3: F(7, 10)}, "refuted"),
    ],
)
def test_both_numbers_of_drafts_must_reach_the_guarantee(
    shares: dict[int, F], verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kseq_guarantee, "optimal_acceptance", lambda p, q, num_drafts: F(1))
    monkeypatch.setattr(kseq_guarantee, "acceptance_rate", lambda p, q, rule, num_drafts: shares[num_drafts])
    assert kseq_guarantee.settle()[0] == verdict


def test_the_likelier_draft_is_tried_first() -> None:
    """By hand: 1 is kept with 2/3, else 0, which is certain then; in the order 0, 1 the token is always 0."""
    p, q = np.array([F(1, 2), F(1, 2)]), np.array([F(1, 4), F(3, 4)])
    assert order_of_drafts.bias(p, q, True) == F(1, 6)
    assert order_of_drafts.bias(p, q, False) == 0


def test_a_draft_passes_by_hand() -> None:
    assert kseq_rho.passes(_bank.TARGET, _bank.DRAFT, F(2)) == 1 - F(1, 4)
    assert 0 < kseq_rho.SLACK <= F(1, 10**8)


def test_the_law_of_greedy_blocks_has_a_token_after_the_drafts() -> None:
    for gamma in (1, 2):
        law = greedy_block_change.law(_bank.TARGET, _bank.DRAFT, gamma)
        assert ({len(text) for text in law}, sum(law.values())) == ({gamma + 1}, 1)


def test_as_many_pairs_are_tried_as_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def one_more(p: Any, q: Any, **options: Any) -> F:
        tried.append(p)
        return of_three_drafts(p, q, **options)

    monkeypatch.setattr(block_optimal, "expected_tokens", one_more)
    assert block_optimal.settle().numbers["pairs, 3 drafts"] == str(len(tried))


def test_less_divergence_is_strict() -> None:
    p, q = np.array([F(1, 4), F(3, 4)]), np.array([F(1, 2), F(1, 2)])
    assert kl_or_acceptance._has_less_kl(p, p, q, 4)
    assert not kl_or_acceptance._has_less_kl(p, q, p, 4)
    assert not kl_or_acceptance._has_less_kl(p, q, q, 4)


def test_acceptance_by_position_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coin, its copy two times of three, and a token that is the first one four times of five."""
    half = np.array([F(1, 2), F(1, 2)])

    def target(text: tuple[int, ...]) -> Any:
        if not text:
            return half
        chance = F(2, 3) if len(text) == 1 else F(4, 5)
        return np.array([chance if v == text[0] else 1 - chance for v in (0, 1)])

    monkeypatch.setattr(one_pass_decay, "_target", target)
    verdict, _, numbers = one_pass_decay.settle()
    # Draft 2 passes with 1/2 + 1/3; draft 3 then with 1/2 + 1/5.
    assert (verdict, numbers["accepted, of all blocks"]) == ("holds", "1, 5/6, 7/12")
    assert numbers["hazards"] == "1, 5/6, 7/10"


def test_a_staircase_of_one_step_is_not_lost() -> None:
    case = unimodal_budget.smallest_staircase()
    assert case is not None
    gains, times, budget = case
    assert (gains[0] >= gains[1] > 0, times[0], times[1] == times[2] <= 2) == (True, 1, True)
    assert budget.stopped == 0


def test_the_chain_value_by_hand() -> None:
    """Two drafts of fair coins against any target: half of the first are matched, a quarter of both."""
    half = np.array([F(1, 2), F(1, 2)])
    assert chain_loss._values((half, half)) == (F(3, 4), F(3, 4), F(55, 36))
    assert chain_loss._verified(half) == "1/2, 1/2: 1/2, kept"
    assert chain_loss._verified(np.array([F(1, 3), F(2, 3)])) == "1/3, 2/3: 1/3, refused"
