"""Conformance checks of chain rules, on context-dependent tables in exact rationals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.base.arrays import at, pick, row_at
from specsim.checks import backends
from specsim.checks.contract import same_names
from specsim.checks.outcomes import Check, close, in_fractions, written
from specsim.checks.scaled import by_scales
from specsim.exact.chain import Table, after_block, blocks, strong_law, target_law
from specsim.exact.small_laws import rational_table
from specsim.forking.forked_rules import kept_and_token
from specsim.testing.cases import (
    corners,
    edge_laws,
    fractions,
    random_laws,
    rational_uniforms,
)
from specsim.testing.statistics import assert_law
from specsim.types import Array, ChainRule
from specsim.verify.hits import draft_tuples

SHAPES = ((2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3))  # vocabulary, gamma


def contract(rule: ModuleType) -> None:
    """The module has every name of specsim.types.ChainRule; gamma = 0 is plain decoding."""
    same_names(rule, ChainRule)
    facts = discover.facts(rule)
    assert facts.survival != facts.continuation, "survival or continuation: one of the two"
    assert (rule.__doc__ or "").strip(), "a rule's docstring states its law first"
    p = np.array([[0.25, 0.75]])
    u = np.full(rule.uniforms(0), 0.5)
    kept, token = rule.verify(rule.prepare(p, p[:0]), np.zeros(0, dtype=np.int64), u)
    assert (int(kept), int(token)) == (0, 1), "with gamma = 0 the token must be drawn from p"


@in_fractions
def transition_is_a_law(rule: ModuleType) -> None:
    """The joint law of (kept, next token) is non-negative and sums to exactly 1 for every drafted block."""
    for _, p, q, x in _drafted_blocks():
        law = rule.transition(rule.prepare(p, q), x)
        assert law.shape == p.shape, "transition must return (gamma+1, V)"
        assert (law >= 0).all(), "a negative probability"
        assert law.sum() == 1, "a joint law that does not sum to 1"


@in_fractions
def sampler_is_transition(rule: ModuleType) -> None:
    """The forked law of `verify` equals `transition`, as rationals."""
    for where, p, q, x in _drafted_blocks():
        forked_is_transition(rule, p, q, x, where)


def forked_is_transition(rule: ModuleType, p: Array, q: Array, x: Array, where: str = "") -> None:
    """The same for one drafted block of rational rows."""
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
    if discover.facts(rule).continuation:  # the text after the block is not the target's alone: there is no such law
        return
    for where, target, draft, gamma in standard_tables():
        law = blocks(rule, target, draft, gamma)
        for text, mass in target_law(target, gamma + 1).items():
            if not mass:
                continue
            ratio = np.array([draft[text[:i]][text[i]] / target[text[:i]][text[i]] for i in range(gamma)])
            claimed = rule.survival(ratio)
            for i in range(1, gamma + 1):
                joint = sum(law.get(text[: n + 1], 0) * _continuation(target, text, n + 1) for n in range(i, gamma + 1))
                assert joint / mass == claimed[i - 1], f"{where}: text {text}, kept >= {i}: {joint / mass}"


@in_fractions
def advance_gives_kept(rule: ModuleType) -> None:
    """Drafts x_1..x_i are drafted and kept with probability Q(x_1..x_i) min(1, w_i), w_i by `advance`."""
    for where, target, draft, gamma in standard_tables():
        law = blocks(rule, target, draft, gamma)
        for i, vocab in ((i, len(target[()])) for i in range(1, gamma + 1)):
            for prefix in itertools.product(range(vocab), repeat=i):
                chance: Any = Fraction(1)
                weight: Any = Fraction(1)
                for j, y in enumerate(prefix):
                    chance *= draft[prefix[:j]][y]
                    if chance:
                        ratio = target[prefix[:j]][y] / draft[prefix[:j]][y]
                        weight = rule.advance(np.array([weight]), np.array([ratio]))[0]
                kept = sum((m for out, m in law.items() if len(out) > i and out[:i] == prefix), Fraction(0))
                assert kept == chance * min(1, weight), f"{where}: drafts {prefix} kept with probability {kept}"


@in_fractions
def below_full_information(rule: ModuleType) -> None:
    """E[kept] <= sum_i 1 - TV(P_i, Q_i) over the laws of the first i tokens: a rule that reports more is lossy."""
    for where, target, draft, gamma in standard_tables():
        kept = strong_law(rule, target, draft, gamma)[1]
        bound = Fraction(0)
        for i in range(1, gamma + 1):
            p, q = target_law(target, i), target_law(draft, i)
            bound += sum((min(p[text], q[text]) for text in p), Fraction(0))
        assert kept <= bound, f"{where}: keeps {kept} drafts on average, more than {bound}"


def edges(rule: ModuleType) -> None:
    """At u = 0 and u = 1 - ulp, on one-hots, zeros, p = q, V = 1: only outcomes of positive probability.

    By `transition`, and by p itself for each draft kept and the token after them; on NumPy and torch, which draws in
    its own way. Rows differ along the chain, too: each pair of edges after each other.
    """
    for vocab in (1, 3):
        pairs = list(edge_laws(vocab))
        cases = [((one,), 1) for one in pairs] + [(both, 2) for both in itertools.product(pairs, repeat=2)]
        for (these, gamma), dtype in itertools.product(cases, (np.float64, np.float32)):
            p, q = (np.array([row[i] for row in (*these, these[0])]).astype(dtype) for i in (1, 2))
            names = ", then ".join(dict.fromkeys(row[0] for row in these))
            _edge(rule, p, q[:gamma], f"{names}, V={vocab}, gamma={gamma}, {dtype.__name__}")


def _edge(rule: ModuleType, p: Array, q: Array, where: str) -> None:
    gamma, ends = len(q), corners(rule.uniforms(len(q)))
    drafted = np.array(list(itertools.product(*(np.flatnonzero(row > 0) for row in q))))
    law = rule.transition(rule.prepare(*(np.broadcast_to(w, (len(drafted), *w.shape)) for w in (p, q))), drafted)
    x, law = (np.repeat(w, len(ends), axis=0) for w in (drafted, np.where(p > 0, law, 0)))
    u = np.tile(ends, (len(drafted), 1))
    rows = [np.broadcast_to(w, (len(x), *w.shape)) for w in (p, q)]
    for library, make in backends.makers(p.dtype).items():
        found = rule.verify(rule.prepare(*map(make, rows)), make(x), make(u))
        kept, token = (np.asarray(w) for w in found)
        inside = (token >= 0) & (token < p.shape[-1])
        possible = (p[np.arange(gamma), x] > 0) | (np.arange(gamma) >= kept[:, None])
        chance = law[np.arange(len(x)), kept, np.where(inside, token, 0)]
        for k in np.flatnonzero(~inside | ~(chance > 0) | ~possible.all(axis=-1)):
            raise AssertionError(
                f"{where}, {library}: drafts {x[k]} and u={written(u[k])} give {kept[k]} kept, then token {token[k]}: "
                "probability 0"
            )


def batches(rule: ModuleType) -> None:
    """A batch gives what its rows give one by one."""
    p, q, x, u = _random_blocks(rule, vocab=4, rows=8, gamma=3)
    kept, token = rule.verify(rule.prepare(p, q), x, u)
    law = rule.transition(rule.prepare(p, q), x)
    for k in range(8):
        row = rule.prepare(p[k], q[k])
        one = tuple(int(v) for v in rule.verify(row, x[k], u[k]))
        assert one == (int(kept[k]), int(token[k])), "verify mixes the rows of a batch"
        assert np.allclose(law[k], rule.transition(row, x[k])), "transition mixes the rows of a batch"


def frequencies(rule: ModuleType) -> None:
    """In float64 the texts of two rows of one batch follow the product law of gamma+1 tokens each.

    60,000 pairs over 64 outcomes: false-alarm rate 1e-9, smallest distance detected with that certainty 0.07.
    """
    p_row, q_row, gamma, n = np.array([1 / 3, 2 / 3]), np.array([2 / 3, 1 / 3]), 2, 60_000
    rng = np.random.default_rng(13)
    p, q = np.broadcast_to(p_row, (2 * n, gamma + 1, 2)), np.broadcast_to(q_row, (2 * n, gamma, 2))
    x, plan = (rng.random((2 * n, gamma)) < q_row[1]).astype(np.int64), rule.prepare(p, q)
    kept, token = rule.verify(plan, x, rng.random((2 * n, rule.uniforms(gamma))))
    above, below = (np.broadcast_to(w, len(x)) for w in after_block(rule, plan, x, kept, token))
    text = (rng.random((2 * n, gamma + 1)) < p_row[1]).astype(np.int64)  # the target's continuation
    text[:, :gamma] = np.where(np.arange(gamma) < kept[:, None], x, text[:, :gamma])
    text[np.arange(2 * n), kept] = token
    changed = (kept == 0) & (below > 0)  # what follows a block of no drafts, up to its last draft
    law = np.maximum(above[:, None] * p_row - below[:, None] * q_row, 0)
    text[:, 1] = np.where(changed, rng.random(2 * n) * law.sum(axis=-1) < law[:, 1], text[:, 1])
    outcome = (text @ [4, 2, 1]).reshape(n, 2)
    law = np.einsum("i,j,k->ijk", p_row, p_row, p_row).ravel()
    assert_law(8 * outcome[:, 0] + outcome[:, 1], np.outer(law, law).ravel(), false_alarm=1e-9)


@in_fractions
def floats_follow_fractions(rule: ModuleType) -> None:
    """In float64 the joint law, the survival and the sampler's outcome are those of Fractions, up to gamma = 8.

    The joint law also where weights fall to 1e-48, 0 in a float32 product, and come back (gamma = 16).
    """
    for vocab, gamma in ((3, 2), (16, 8)):
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
        for found, wanted in zip(rule.verify(plain, x, u), rule.verify(exact, x, exact_u), strict=True):
            assert (np.asarray(found) == np.asarray(wanted)).all(), f"{where}: other outcomes in float64"
    down, up = [2.0**-20, 1 - 2.0**-20], [1 - 2.0**-20, 2.0**-20]
    p, q, x = np.array([down] * 8 + [up] * 9), np.array([up] * 8 + [down] * 8), np.zeros(16, dtype=np.int64)
    plain, exact = (rule.transition(rule.prepare(*rows), x) for rows in ((p, q), (fractions(p), fractions(q))))
    close(plain, exact, "weights that vanish and come back: transition")


def two_numbers_a_draft(rule: ModuleType) -> None:
    """Where a rule has `keeps` and `left_over`, or `scales`, `verify` is what they say: simulations go by them."""
    facts = discover.facts(rule)
    for gamma in (1, 4) if facts.left_over or facts.scales else ():
        p, q, x, u = _random_blocks(rule, vocab=5, rows=200, gamma=gamma)
        kept, token = rule.verify(rule.prepare(p, q), x, u)
        if facts.scales:
            for found, wanted in zip(by_scales(rule, p, q, x, u), (kept, token), strict=True):
                assert (found == wanted).all(), "verify keeps or emits other tokens than scales say"
            continue
        own = rule.keeps(at(p[:, :gamma], x), at(q, x), u[:, :gamma])
        assert (own == kept).all(), "keeps counts other drafts than verify"
        failed = np.minimum(kept, gamma - 1)
        law = np.where(kept[:, None] < gamma, rule.left_over(row_at(p, failed), row_at(q, failed)), p[:, gamma])
        assert (pick(law, u[:, gamma]) == token).all(), "verify draws from another law than left_over"


def same_on_every_backend(rule: ModuleType) -> None:
    """NumPy, JAX (eager, jit, vmap) and torch keep the same of 1 and of 4 drafts, and emit the same token."""
    for gamma in (1, 4):
        arrays = _random_blocks(rule, vocab=13, rows=64, gamma=gamma)
        backends.assert_same(lambda p, q, x, u: rule.verify(rule.prepare(p, q), x, u), *arrays)


def standard_tables() -> Iterator[tuple[str, Table, Table, int]]:
    """(where, target, draft, gamma): two random tables of every shape."""
    for vocab, gamma in SHAPES:
        for seed in (0, 1):
            rng = np.random.default_rng([vocab, gamma, seed])
            target, draft = rational_table(rng, vocab, gamma), rational_table(rng, vocab, gamma)
            yield f"V={vocab} gamma={gamma} seed={seed}", target, draft, gamma


def _drafted_blocks() -> Iterator[tuple[str, Array, Array, Array]]:
    for where, target, draft, gamma in standard_tables():
        for x in draft_tuples(len(target[()]), gamma):
            path = tuple(int(t) for t in x)
            q = np.array([draft[path[:i]] for i in range(gamma)])
            if all(q[i, t] for i, t in enumerate(path)):
                yield where, np.array([target[path[:i]] for i in range(gamma + 1)]), q, x


def _continuation(target: Table, text: tuple[int, ...], start: int) -> Fraction:
    out = Fraction(1)
    for i in range(start, len(text)):
        out *= target[text[:i]][text[i]]
    return out


def _random_blocks(rule: ModuleType, vocab: int, rows: int, gamma: int) -> tuple[Array, ...]:
    p, _, _ = backends.laws(vocab, rows * (gamma + 1), seed=gamma)
    _, q, rng = backends.laws(vocab, rows * gamma, seed=gamma)
    x, u = rng.integers(0, vocab, (rows, gamma)), rng.random((rows, rule.uniforms(gamma)))
    return p.reshape(rows, gamma + 1, vocab), q.reshape(rows, gamma, vocab), x, u


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
