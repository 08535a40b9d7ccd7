"""`scored_wor`: the optimum of three and four drafts without replacement, reached, certified, and lossless."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import table_wor_scores
from helpers.wor_pairs import WOR, peaked, rows

from specsim import acceptance_rate, optimal_acceptance, optimum, output_law
from specsim.checks.step import STEP_CHECKS, forked_is_transition
from specsim.verify import scored_wor
from specsim.verify.step import _heights, _race, _scores, recursive_wor

Array = Any
# The bound and the law of the chosen draft are sums over time, each within about 5e-14.
NEAR = 2e-13


def best(p: Array, q: Array, num_drafts: int) -> Array:
    return optimal_acceptance(p, q, num_drafts=num_drafts, scheme=WOR)


def tuple_chance(q: Array, drafts: Any) -> Any:
    """Probability of an ordered tuple of drafts; what is left is summed, as a difference would cancel."""
    chance = q[0] / q[0]
    for k, token in enumerate(drafts):
        chance = chance * q[token] / sum(q[i] for i in range(len(q)) if i not in drafts[:k])
    return chance


def chosen_law(q: Array, num_drafts: int, level: list[int], share: Array) -> Array:
    """Law of the draft of the highest score: over all drafts and all levels, of equal ones each as likely."""
    law = [0 * q[0]] * len(q)
    for drafts in permutations(range(len(q)), num_drafts):
        chance = tuple_chance(q, drafts)
        for uppers in product((0, 1), repeat=num_drafts):
            part, reached = chance, []
            for token, upper in zip(drafts, uppers, strict=True):
                part = part * (share[token] if upper else 1 - share[token])
                reached.append(level[token] + upper)
            winners = [x for x, height in zip(drafts, reached, strict=True) if height == max(reached)]
            for x in winners:
                law[x] = law[x] + part / len(winners)
    return np.array(law)


def random_places(rng: np.random.Generator, vocab: int, levels: int) -> tuple[Array, Array]:
    return rng.integers(0, levels - 1, vocab), rng.random(vocab)


@pytest.mark.parametrize(("vocab", "num_drafts"), [(5, 3), (5, 4)])
def test_chances_of_drafts_are_those_of_levels_and_ties(vocab: int, num_drafts: int) -> None:
    """In rationals: Simpson's rule against levels counted one by one."""
    rng = np.random.default_rng(vocab)
    q = np.array([Fraction(int(w), 1) for w in rng.integers(1, 9, vocab)], dtype=object)
    q = q / q.sum()
    level = rng.integers(0, 4, vocab)
    share = np.array([Fraction(int(w), 7) for w in rng.integers(0, 7, vocab)], dtype=object)
    law = 0 * q
    for drafts in permutations(range(vocab), num_drafts):
        chance = tuple_chance(q, drafts)
        for token, part in zip(drafts, _scores.chosen(level, share, np.array(drafts)), strict=True):
            law[token] += chance * part
    assert (law == chosen_law(q, num_drafts, level.tolist(), share)).all()


@pytest.mark.parametrize("spread", [1.0, 0.1])
@pytest.mark.parametrize(("vocab", "num_drafts"), [(5, 3), (5, 4)])
def test_the_law_is_that_of_all_drafts(vocab: int, num_drafts: int, spread: float) -> None:
    """The sum over time, for any places, peaked q included, against all tuples; and at other heights of one token."""
    rng = np.random.default_rng(7)
    (q,) = rng.dirichlet(np.full(vocab, spread), 1)
    level, share = random_places(rng, vocab, 6)
    run = _race.race(q, num_drafts)
    found = _heights.law(run, _heights.Places(level, share), 6)
    assert found == pytest.approx(chosen_law(q, num_drafts, level.tolist(), share), abs=1e-14)
    chances = _scores.responses(run, level, share, 6)
    for k in range(4):
        if 0 <= level[0] + k - 1 < 5:
            moved, rest = level.copy(), share.copy()
            moved[0], rest[0] = level[0] + k - 1, 0
            assert chances[0, k] == pytest.approx(chosen_law(q, num_drafts, moved.tolist(), rest)[0], abs=1e-14)


def test_masses_that_overflow_time() -> None:
    """Tokens of 1e-309: the race lasts longer than floats can say."""
    q = np.array([1.0, 1e-5, 3e-309, 2e-309, 1e-309])
    q = q / q.sum()
    level, share = random_places(np.random.default_rng(3), 5, 6)
    run = _race.race(q, 3)
    found = _heights.law(run, _heights.Places(level, share), 6)
    # Almost surely the drafts are the two likeliest and one of the others, by its mass.
    wanted = np.zeros(5)
    for other in (2, 3, 4):
        part = _scores.chosen(level, share, np.array([0, 1, other]))
        wanted[[0, 1, other]] += np.array(part) * q[other] / q[2:].sum()
    assert found == pytest.approx(wanted, abs=2e-12)


@pytest.mark.parametrize(("vocab", "num_drafts"), [(6, 3), (30, 3), (30, 4), (200, 3)])
def test_the_optimum_is_reached(vocab: int, num_drafts: int) -> None:
    p, q = rows(vocab, vocab)
    plan = scored_wor.prepare(p, q, num_drafts)
    assert plan.rate == pytest.approx(best(p, q, num_drafts), abs=NEAR)
    assert plan.gap == pytest.approx(0, abs=NEAR)
    assert plan.winners.sum() == pytest.approx(1, abs=NEAR)


@pytest.mark.parametrize("temperature", [0.1, 0.3, 1.0])
def test_the_optimum_is_reached_by_peaked_laws(temperature: float) -> None:
    p, q = (w[0] for w in peaked(3, temperature, 12, 0.5, count=1))
    assert acceptance_rate(p, q, rule=scored_wor, num_drafts=3) == pytest.approx(best(p, q, 3), abs=NEAR)


@pytest.mark.slow  # the twin of many tokens
@pytest.mark.parametrize("num_drafts", [3, 4])
@pytest.mark.parametrize("vocab", [1024])
def test_the_optimum_is_reached_by_many_tokens(vocab: int, num_drafts: int) -> None:
    p, q = rows(1, vocab)
    plan = scored_wor.prepare(p, q, num_drafts)
    assert plan.gap == pytest.approx(0, abs=NEAR)
    assert plan.rate == pytest.approx(best(p, q, num_drafts), abs=NEAR)


@pytest.mark.parametrize("num_drafts", [3, 4])
def test_rationals_are_lossless_and_near_the_optimum(num_drafts: int) -> None:
    weights = np.random.default_rng(num_drafts).integers(1, 10, (2, num_drafts + 1))
    p, q = (np.array([Fraction(int(w), int(row.sum())) for w in row], dtype=object) for row in weights)
    told: Any = {"rule": scored_wor, "num_drafts": num_drafts}
    assert (output_law(p, q, **told) == p).all()
    rate = acceptance_rate(p, q, **told)
    value = best(p, q, num_drafts)
    assert rate <= value
    assert float(value - rate) < NEAR
    assert rate >= acceptance_rate(p, q, rule="recursive_wor", num_drafts=num_drafts)


@pytest.mark.parametrize("steps", [0, 1])
def test_lossless_and_certified_at_any_step(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the method stops, the output is p, and `gap` is what is lost against the bound of one set."""
    monkeypatch.setattr(_heights, "STEPS", steps)
    p, q = rows(5, 7)
    plan = scored_wor.prepare(p + 0, q, 3)
    assert plan.gap > 1e-3
    drafts = np.array(list(permutations(range(7), 3)))
    chance = np.array([tuple_chance(q, tokens) for tokens in drafts.tolist()])
    law = scored_wor.transition(plan, drafts)
    assert np.abs(chance @ law - p).max() < 1e-14
    hit = np.take_along_axis(law, drafts, axis=-1).sum(axis=-1)
    assert plan.rate == pytest.approx(chance @ hit, abs=1e-13)
    value = optimum(p, q, num_drafts=3, scheme=WOR).value
    assert plan.gap == pytest.approx(value - np.minimum(p, plan.winners).sum(), abs=NEAR)
    assert value - plan.gap - NEAR <= plan.rate <= value + NEAR


CHECKS = ["contract", "transition_is_a_law", "output_is_target", "acceptance_is_exact", "batches"]


@pytest.mark.slow  # sets of tokens by the hundred; the twin is the test of rationals
@pytest.mark.parametrize("check", [*CHECKS, "sampler_is_transition", "acceptance_below_optimum", "edges"])
def test_step_checks(check: str) -> None:
    checked: Callable[[ModuleType], None] = STEP_CHECKS[check]
    checked(scored_wor)


def test_the_sampler_follows_the_kernel() -> None:
    """In rationals, all drafts of one pair: every way in which comparisons of the uniforms can come out."""
    p, q = (np.array([Fraction(w, 10) for w in row], dtype=object) for row in ((1, 2, 3, 4), (4, 3, 2, 1)))
    forked_is_transition(scored_wor, p, q, 3)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_other_libraries_give_the_same_tokens(library: str) -> None:
    """JAX under jit calls the plan back."""
    pytest.importorskip(library)
    p, q = np.random.default_rng(0).dirichlet(np.ones(6), (2, 3))
    rng = np.random.default_rng(1)
    drafts, u = np.argsort(-(rng.gumbel(size=q.shape) + np.log(q)), axis=-1)[:, :3], rng.random((3, 3))
    wanted = scored_wor.verify(scored_wor.prepare(p, q, 3), drafts, u)

    def tokens(p: Array, q: Array, drafts: Array, u: Array) -> Array:
        return scored_wor.verify(scored_wor.prepare(p, q, 3), drafts, u)

    if library == "torch":
        torch = pytest.importorskip("torch")
        found = tokens(*(torch.from_numpy(w) for w in (p, q, drafts, u)))
    else:
        jax = pytest.importorskip("jax")
        with jax.enable_x64(True):
            found = jax.jit(tokens)(p, q, drafts, u)
    assert np.asarray(found).tolist() == wanted.tolist()


def test_more_than_recursive_rejection() -> None:
    p, q = rows(3, 40)
    found = acceptance_rate(p, q, rule=scored_wor, num_drafts=3)
    assert found > recursive_wor.acceptance(recursive_wor.prepare(p, q, 3)) + 0.02


def test_where_all_tokens_are_drafted_the_target_is_drawn() -> None:
    """Also where the last one repeats, which would be chosen more often."""
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.5, 0.0])
    plan = scored_wor.prepare(p, q, 4)
    assert scored_wor.transition(plan, np.array([0, 1, 1, 1])) == pytest.approx(p)
    assert plan.rate == pytest.approx(0.5)


def test_where_as_many_tokens_as_drafts_can_be_drafted_the_target_is_drawn() -> None:
    p, q = (np.array([Fraction(w, 10) for w in row], dtype=object) for row in ((1, 2, 3, 4), (5, 3, 2, 0)))
    plan = scored_wor.prepare(p, q, 3)
    assert (scored_wor.transition(plan, np.array([2, 0, 1])) == p).all()
    assert plan.rate == Fraction(6, 10)
    forked_is_transition(scored_wor, p, q, 3)


def test_a_batch_without_rows_has_no_numbers() -> None:
    none = np.zeros((2, 0, 5))
    plan = scored_wor.prepare(none, none, 3)
    assert acceptance_rate(none, none, rule=scored_wor, num_drafts=3).shape == plan.gap.shape == (2, 0)
    assert scored_wor.verify(plan, np.zeros((2, 0, 3), dtype=np.int64), np.zeros((2, 0, 3))).shape == (2, 0)


def test_rounding_below_zero_is_no_mass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft that p excludes would else pass where its w is a negative number."""
    law = _heights.law
    monkeypatch.setattr(_heights, "law", lambda *told: law(*told) - 1e-18)
    q = np.array([0.4, 0.3, 0.2, 0.1, 1e-30])
    plan = scored_wor.prepare(np.array([0.1, 0.2, 0.3, 0.4, 0.0]), q, 3)
    assert plan.winners[-1] == 0


def test_a_draft_that_is_never_chosen_is_not_chosen_at_a_coin_of_zero() -> None:
    p, q = rows(5, 5)
    plan = scored_wor.prepare(p, q, 3)._replace(level=np.array([0, 9, 9, 0, 0]), share=np.zeros(5))
    assert scored_wor.verify(plan, np.array([0, 1, 3]), np.zeros(3)) == 1


def test_many_tokens_of_fractions_are_refused() -> None:
    p = np.full(13, Fraction(1, 13), dtype=object)
    with pytest.raises(ValueError, match=r"^num_drafts=3 without replacement on Fractions sums over all sets of at m"):
        scored_wor.prepare(p, p, 3)


def test_the_record_is_what_the_code_gives() -> None:
    text = (table_wor_scores.HERE / "wor_scores.txt").read_text(encoding="utf-8")
    note = table_wor_scores.HERE.parents[1] / "proofs" / "T38_without_replacement_reached.md"
    assert text in note.read_text(encoding="utf-8")
    assert table_wor_scores.line("zipf", 64, 3) in text.splitlines()
