"""Conformance checks of chain rules, on context-dependent tables in exact rationals."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.base.arrays import at, pick, row_at
from specsim.checks import backends
from specsim.checks.chain_cases import continuation_mass, drafted_blocks, random_blocks, standard_tables
from specsim.checks.contract import same_names
from specsim.checks.outcomes import Check, close, in_fractions, written
from specsim.checks.scaled import by_scales
from specsim.exact.chain import after_block, blocks, strong_law, target_law
from specsim.forking.forked_rules import kept_and_token
from specsim.testing.cases import corners, edge_laws, fractions, random_laws, rational_uniforms
from specsim.testing.statistics import assert_law
from specsim.types import Array, ChainRule


def contract(rule: ModuleType) -> None:
    """The module has every name of specsim.types.ChainRule; gamma = 0 is plain decoding."""
    same_names(rule, ChainRule)
    facts = discover.facts(rule)
    assert facts.survival != facts.continuation, "survival or continuation: one of the two"
    assert (rule.__doc__ or "").strip(), "a rule's docstring states its law first"
    p = np.array([[0.25, 0.75]])
    u = np.full(rule.uniforms(0), 0.5)
    num_accepted, token = rule.verify(rule.prepare(p, p[:0]), np.zeros(0, dtype=np.int64), u)
    assert (int(num_accepted), int(token)) == (0, 1), "with gamma = 0 the token must be drawn from p"


@in_fractions
def transition_is_a_law(rule: ModuleType) -> None:
    """The joint law of (kept, next token) is non-negative and sums to exactly 1 for every drafted block."""
    for _, p, q, x in drafted_blocks():
        law = rule.transition(rule.prepare(p, q), x)
        assert law.shape == p.shape, "transition must return (gamma+1, V)"
        assert (law >= 0).all(), "a negative probability"
        assert law.sum() == 1, "a joint law that does not sum to 1"


@in_fractions
def sampler_is_transition(rule: ModuleType) -> None:
    """The forked law of `verify` equals `transition`, as rationals."""
    for where, p, q, x in drafted_blocks():
        forked_is_transition(rule, p, q, x, where)


def forked_is_transition(rule: ModuleType, p: Array, q: Array, x: Array, where: str = "") -> None:
    """The forked law of `verify` equals `transition` for one drafted block of rational rows."""
    plan = rule.prepare(p, q)
    law = kept_and_token(partial(rule.verify, plan, x), rule.uniforms(len(q)))
    joint = rule.transition(plan, x)
    wanted = {(int(n), int(y)): Fraction(joint[n, y]) for n, y in zip(*np.nonzero(joint), strict=True)}
    assert law == wanted, f"{where} drafts={x}: the sampler's law is {law}, transition says {wanted}"


@in_fractions
def strongly_lossless(rule: ModuleType) -> None:
    """One block continued by the target has the target's joint law over gamma+1 tokens."""
    for where, target, draft, gamma in standard_tables():
        law, goal = strong_law(rule, target, draft, gamma)[0], target_law(target, gamma + 1)
        for text, mass in goal.items():
            assert law.get(text, 0) == mass, f"{where}: text {text} has probability {law.get(text, 0)}, not {mass}"


@in_fractions
def survival_given_text(rule: ModuleType) -> None:
    """P(kept >= i | emitted text) is `survival` of the ratios q/p along the text: what tau is predicted from."""
    # A rule that changes the target after its block has no such law.
    if discover.facts(rule).continuation:
        return
    for where, target, draft, gamma in standard_tables():
        law = blocks(rule, target, draft, gamma)
        for text, mass in target_law(target, gamma + 1).items():
            if not mass:
                continue
            ratio = np.array([draft[text[:i]][text[i]] / target[text[:i]][text[i]] for i in range(gamma)])
            claimed = rule.survival(ratio)
            for i in range(1, gamma + 1):
                # Blocks of at least i accepted drafts that the target continues to this text.
                lengths = range(i + 1, gamma + 2)
                joint = sum(law.get(text[:n], 0) * continuation_mass(target, text, n) for n in lengths)
                assert joint / mass == claimed[i - 1], f"{where}: text {text}, kept >= {i}: {joint / mass}"


@in_fractions
def advance_gives_kept(rule: ModuleType) -> None:
    """Drafts x_1..x_i are drafted and kept with probability Q(x_1..x_i) min(1, w_i), w_i by `advance`."""
    for where, target, draft, gamma in standard_tables():
        law = blocks(rule, target, draft, gamma)
        for i in range(1, gamma + 1):
            for prefix in itertools.product(range(len(target[()])), repeat=i):
                # Q(x_1..x_i) and w_i.
                chance: Any = Fraction(1)
                weight: Any = Fraction(1)
                for j, y in enumerate(prefix):
                    chance *= draft[prefix[:j]][y]
                    if chance:
                        ratio = target[prefix[:j]][y] / draft[prefix[:j]][y]
                        weight = rule.advance(np.array([weight]), np.array([ratio]))[0]
                accepted = sum(
                    (mass for text, mass in law.items() if len(text) > i and text[:i] == prefix), Fraction(0)
                )
                assert accepted == chance * min(1, weight), f"{where}: drafts {prefix} kept with probability {accepted}"


@in_fractions
def below_full_information(rule: ModuleType) -> None:
    """E[kept] <= sum_i 1 - TV(P_i, Q_i) over the laws of the first i tokens: a rule that reports more is lossy."""
    for where, target, draft, gamma in standard_tables():
        accepted = strong_law(rule, target, draft, gamma)[1]
        bound = Fraction(0)
        for i in range(1, gamma + 1):
            p, q = target_law(target, i), target_law(draft, i)
            bound += sum((min(p[text], q[text]) for text in p), Fraction(0))
        assert accepted <= bound, f"{where}: keeps {accepted} drafts on average, more than {bound}"


def edges(rule: ModuleType) -> None:
    """At u = 0 and u = 1 - ulp, on one-hots, zeros, p = q, V = 1: only outcomes of positive probability.

    By `transition`, and by p itself for each draft kept and the token after them; on NumPy and
    torch, which draws in its own way. Rows differ along the chain, too: each pair of edges after
    each other.
    """
    for vocab in (1, 3):
        pairs = list(edge_laws(vocab))
        cases = [((pair,), 1) for pair in pairs] + [(both, 2) for both in itertools.product(pairs, repeat=2)]
        for (edge, gamma), dtype in itertools.product(cases, (np.float64, np.float32)):
            p, q = (np.array([pair[i] for pair in (*edge, edge[0])]).astype(dtype) for i in (1, 2))
            names = ", then ".join(dict.fromkeys(pair[0] for pair in edge))
            _edge(rule, p, q[:gamma], f"{names}, V={vocab}, gamma={gamma}, {dtype.__name__}")


def _edge(rule: ModuleType, p: Array, q: Array, where: str) -> None:
    """Fail if some drafts and some corner of the uniforms give an outcome of probability 0."""
    # All drafts with all corners, and the joint law of each; tokens that p excludes have no mass.
    gamma, ends = len(q), corners(rule.uniforms(len(q)))
    drafted = np.array(list(itertools.product(*(np.flatnonzero(row > 0) for row in q))))
    plan = rule.prepare(*(np.broadcast_to(law, (len(drafted), *law.shape)) for law in (p, q)))
    joint = rule.transition(plan, drafted)
    x, joint = np.repeat(drafted, len(ends), axis=0), np.repeat(np.where(p > 0, joint, 0), len(ends), axis=0)
    u = np.tile(ends, (len(drafted), 1))
    rows = [np.broadcast_to(law, (len(x), *law.shape)) for law in (p, q)]

    # The outcomes of each library; p must allow each accepted draft, too.
    for library, make in backends.makers(p.dtype).items():
        accepted, token = map(np.asarray, rule.verify(rule.prepare(*map(make, rows)), make(x), make(u)))
        inside = (token >= 0) & (token < p.shape[-1])
        possible = (p[np.arange(gamma), x] > 0) | (np.arange(gamma) >= accepted[:, None])
        chance = joint[np.arange(len(x)), accepted, np.where(inside, token, 0)]
        for k in np.flatnonzero(~inside | ~(chance > 0) | ~possible.all(axis=-1)):
            raise AssertionError(
                f"{where}, {library}: drafts {x[k]} and u={written(u[k])} give {accepted[k]} kept, "
                f"then token {token[k]}: probability 0"
            )


def batches(rule: ModuleType) -> None:
    """A batch gives what its rows give one by one."""
    p, q, x, u = random_blocks(rule, vocab=4, rows=8, gamma=3)
    accepted, token = rule.verify(rule.prepare(p, q), x, u)
    law = rule.transition(rule.prepare(p, q), x)
    for k in range(8):
        row = rule.prepare(p[k], q[k])
        alone = tuple(int(value) for value in rule.verify(row, x[k], u[k]))
        assert alone == (int(accepted[k]), int(token[k])), "verify mixes the rows of a batch"
        assert np.allclose(law[k], rule.transition(row, x[k])), "transition mixes the rows of a batch"


def frequencies(rule: ModuleType) -> None:
    """In float64 the texts of two rows of one batch follow the product law of gamma+1 tokens each.

    60,000 pairs over 64 outcomes: false-alarm rate 1e-9, smallest distance detected with that
    certainty 0.07.
    """
    p_row, q_row, gamma, n = np.array([1 / 3, 2 / 3]), np.array([2 / 3, 1 / 3]), 2, 60_000
    rng = np.random.default_rng(13)

    # Verify drafts drawn from q.
    p, q = np.broadcast_to(p_row, (2 * n, gamma + 1, 2)), np.broadcast_to(q_row, (2 * n, gamma, 2))
    x, plan = (rng.random((2 * n, gamma)) < q_row[1]).astype(np.int64), rule.prepare(p, q)
    accepted, token = rule.verify(plan, x, rng.random((2 * n, rule.uniforms(gamma))))

    # Continue each block by the target to gamma + 1 tokens.
    above, below = (np.broadcast_to(factor, len(x)) for factor in after_block(rule, plan, x, accepted, token))
    text = (rng.random((2 * n, gamma + 1)) < p_row[1]).astype(np.int64)
    text[:, :gamma] = np.where(np.arange(gamma) < accepted[:, None], x, text[:, :gamma])
    text[np.arange(2 * n), accepted] = token

    # A rule may change the law of the token after a block of no drafts, up to its last draft.
    changed = (accepted == 0) & (below > 0)
    law = np.maximum(above[:, None] * p_row - below[:, None] * q_row, 0)
    text[:, 1] = np.where(changed, rng.random(2 * n) * law.sum(axis=-1) < law[:, 1], text[:, 1])

    # Texts as numbers 0..7, in pairs.
    outcome = (text @ [4, 2, 1]).reshape(n, 2)
    law = np.einsum("i,j,k->ijk", p_row, p_row, p_row).ravel()
    assert_law(8 * outcome[:, 0] + outcome[:, 1], np.outer(law, law).ravel(), false_alarm=1e-9)


@in_fractions
def floats_follow_fractions(rule: ModuleType) -> None:
    """In float64 the joint law, the survival and the sampler's outcome are those of Fractions, up to gamma = 8.

    The joint law also where weights fall to 1e-48, 0 in a float32 product, and come back (gamma =
    16).
    """
    for vocab, gamma in ((3, 2), (16, 8)):
        # Random blocks, in rationals and in floats.
        p, near_p = random_laws(vocab, 6 * (gamma + 1), seed=gamma)
        p = p.reshape(2, 3, gamma + 1, vocab)
        q = near_p.reshape(2, 3, gamma + 1, vocab)[..., :gamma, :]
        x = np.random.default_rng(gamma).integers(0, vocab, (2, 3, gamma))
        u, exact_u = rational_uniforms((2, 3, rule.uniforms(gamma)), seed=gamma)
        exact, plain = rule.prepare(p, q), rule.prepare(p.astype(float), q.astype(float))
        where = f"V={vocab} gamma={gamma}"
        close(rule.transition(plain, x), rule.transition(exact, x), f"{where}: transition")
        if discover.facts(rule).survival:
            ratio = exact_u[..., :gamma] * 2
            close(rule.survival(ratio.astype(float)), rule.survival(ratio), f"{where}: survival")
        for outcome, wanted in zip(rule.verify(plain, x, u), rule.verify(exact, x, exact_u), strict=True):
            assert (np.asarray(outcome) == np.asarray(wanted)).all(), f"{where}: other outcomes in float64"
    # Ratios that fall to 2^-160, then rise again.
    down, up = [2.0**-20, 1 - 2.0**-20], [1 - 2.0**-20, 2.0**-20]
    p, q, x = np.array([down] * 8 + [up] * 9), np.array([up] * 8 + [down] * 8), np.zeros(16, dtype=np.int64)
    plain, exact = (rule.transition(rule.prepare(*rows), x) for rows in ((p, q), (fractions(p), fractions(q))))
    close(plain, exact, "weights that vanish and come back: transition")


def two_numbers_a_draft(rule: ModuleType) -> None:
    """Where a rule has `keeps` and `left_over`, or `scales`, `verify` is what they say: simulations go by them."""
    facts = discover.facts(rule)
    for gamma in (1, 4) if facts.left_over or facts.scales else ():
        p, q, x, u = random_blocks(rule, vocab=5, rows=200, gamma=gamma)
        accepted, token = rule.verify(rule.prepare(p, q), x, u)
        if facts.scales:
            for by_scale, wanted in zip(by_scales(rule, p, q, x, u), (accepted, token), strict=True):
                assert (by_scale == wanted).all(), "verify keeps or emits other tokens than scales say"
            continue

        # `keeps` counts the accepted drafts; the token is drawn from `left_over`, or as the bonus.
        counted = rule.keeps(at(p[:, :gamma], x), at(q, x), u[:, :gamma])
        assert (counted == accepted).all(), "keeps counts other drafts than verify"
        failed = np.minimum(accepted, gamma - 1)
        residual = rule.left_over(row_at(p, failed), row_at(q, failed))
        law = np.where(accepted[:, None] < gamma, residual, p[:, gamma])
        assert (pick(law, u[:, gamma]) == token).all(), "verify draws from another law than left_over"


def same_on_every_backend(rule: ModuleType) -> None:
    """NumPy, JAX (eager, jit, vmap) and torch keep the same of 1 and of 4 drafts, and emit the same token."""
    for gamma in (1, 4):
        arrays = random_blocks(rule, vocab=13, rows=64, gamma=gamma)
        backends.assert_same(lambda p, q, x, u: rule.verify(rule.prepare(p, q), x, u), *arrays)


CHAIN_CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        contract,
        transition_is_a_law,
        sampler_is_transition,
        strongly_lossless,
        survival_given_text,
        advance_gives_kept,
        below_full_information,
        edges,
        batches,
        frequencies,
        floats_follow_fractions,
        two_numbers_a_draft,
        same_on_every_backend,
    )
}
