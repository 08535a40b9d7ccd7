"""Tables of residuals against rows: masses, draws, texts of the rules that look them up, and exact laws of the code."""

from __future__ import annotations

from fractions import Fraction as F
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from specsim import markov, simulate
from specsim.base.arrays import pick
from specsim.discover import facts, find
from specsim.forking import rational
from specsim.simulation import blocks, lazy_entries, pair_tables, residuals
from specsim.simulation.decode_loop import loop
from specsim.simulation.toys.pair import paired
from specsim.types import Array
from specsim.verify.chain import block, capped, greedy_block
from specsim.verify.tree import tokenwise as tree_tokenwise
from specsim.verify.tree import traversal

RULES: list[ModuleType] = [block, capped, greedy_block]
CHAIN = ["block", "capped", "greedy_block"]
SMALL = [(-1, 0), (-1, -1, 0, 0, 1)]


def some_laws(vocab: int, count: int, zeros: float) -> tuple[Array, Array]:
    """Laws with zeros, and tokens of equal p/q."""
    rng = np.random.default_rng(vocab)
    p, q = (rng.dirichlet(np.ones(vocab), count) * (rng.random((count, vocab)) > zeros) for _ in range(2))
    q[:, ::3] = p[:, ::3] / 2
    p[:, 0] += 0.01
    q[:, 0] += 0.01
    return p / p.sum(axis=-1, keepdims=True), q / q.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("vocab", [1, 2, 15, 16, 17, 33, 65, 200])
def test_masses_and_draws_are_those_of_rows(vocab: int) -> None:
    """Also at u = 0 and at the largest u, where a token without weight would be one step away."""
    rng = np.random.default_rng(vocab)
    p, q = some_laws(vocab, 5, 0.3)
    known = residuals.residuals(p, q)
    assert known is not None
    assert known.left.shape[0] == max(0, (vocab - 1).bit_length() - 4)
    row, above, below = rng.integers(0, 5, 600), rng.random(600), rng.random(600)
    above[:100], below[100:200] = below[:100], 0
    law = residuals.mass(known, row, above, below)
    rows = np.maximum(above[:, None] * p[row] - below[:, None] * q[row], 0)
    assert np.allclose(law.total, rows.sum(axis=-1), rtol=0, atol=1e-14)
    some = law.total > 1e-9
    assert some.sum() > 100
    law = residuals.Mass(*(w[some] for w in law))
    for u in (rng.random(600), np.zeros(600), np.full(600, 1 - 2.0**-53)):
        token = residuals.draw(known, row[some], law, u[some])
        assert (token == pick(rows[some], u[some])).all()
        assert (np.take_along_axis(rows[some], token[:, None], axis=-1) > 0).all()


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_trees_without_their_lowest_levels_draw_the_same(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where contexts are too many for whole trees, leaves are longer."""
    p, q = some_laws(300, 4, 0.3)
    monkeypatch.setattr(residuals, "CELLS", 4 * 512 * levels + 100)
    known = residuals.residuals(p, q)
    assert known is not None
    assert known.left.shape == (levels, 4, 512)
    rng = np.random.default_rng(levels)
    row, below = rng.integers(0, 4, 300), rng.random(300)
    law = residuals.mass(known, row, np.ones(300), below)
    rows = np.maximum(p[row] - below[:, None] * q[row], 0)
    u = rng.random(300)
    assert (residuals.draw(known, row, law, u) == pick(rows, u)).all()


def whole_rows(rule: ModuleType) -> ModuleType:
    """The same rule without a word on its scales: it is given its rows."""
    other = ModuleType("whole_rows")
    other.__dict__.update({k: v for k, v in vars(rule).items() if k not in ("scales", "__file__")})
    return other


@pytest.mark.parametrize("rule", RULES, ids=CHAIN)
@pytest.mark.parametrize("gamma", [1, 2, 5])
def test_looking_up_writes_the_same_texts(rule: ModuleType, gamma: int) -> None:
    """Token for token what the rule writes that reads rows, on laws with zeros and ties, over many blocks of a text."""
    assert facts(rule).one_file
    assert not facts(whole_rows(rule)).one_file
    p, q = some_laws(40, 40, 0.2)
    for target, draft in ((markov(p), markov(q)), (p[0], q[0]), (markov(p), markov(p)), (markov(q), markov(p))):
        looked, whole = (
            simulate(target, draft, rule=r, gamma=gamma, blocks=1000, sequences=50, keep_tokens=True)
            for r in (rule, whole_rows(rule))
        )
        assert np.array_equal(looked.tokens, whole.tokens)
        assert np.array_equal(looked.kept, whole.kept)


@pytest.mark.parametrize("scheme", ["iid", "without_replacement"])
@pytest.mark.parametrize("rule", [traversal, tree_tokenwise], ids=["traversal", "tokenwise"])
@pytest.mark.parametrize("parents", [*SMALL, (-1, -1, -1, 0, 0, 1, 3, 3)])
def test_trees_are_looked_up_the_same(rule: ModuleType, parents: tuple[int, ...], scheme: str) -> None:
    """Trees as well; also where one token has nearly all of the draft's law, so that differences of sums lose the rest,
    and where it has but as many tokens as siblings are drawn.
    """
    p, q = some_laws(40, 40, 0.2)
    steep = q.copy()
    steep[::2] = q[::2] * 1e-13
    steep[::2, 5] = 1 - steep[::2].sum(axis=-1) + steep[::2, 5]
    short = np.zeros(40)
    short[[1, 7, 39]] = [0.5, 0.25, 0.25]
    for draft in (markov(q), markov(steep), short):
        run = loop(rule, None, parents, 1, scheme)
        assert blocks.ready(run, paired(markov(p), draft)).residuals is not None
        looked, whole = (
            simulate(
                markov(p), draft, rule=r, parents=parents, scheme=scheme, blocks=500, sequences=25, keep_tokens=True
            )
            for r in (rule, whole_rows(rule))
        )
        assert np.array_equal(looked.tokens, whole.tokens)
        assert np.array_equal(looked.kept, whole.kept)


def test_tables_that_would_be_too_large_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = some_laws(40, 40, 0.2)
    run = loop("block", 2, None, 1, None)
    assert blocks.ready(run, paired(markov(p), markov(q))).residuals is not None
    looked = simulate(markov(p), markov(q), rule="block", gamma=2, blocks=500, keep_tokens=True)
    monkeypatch.setattr(residuals, "CELLS", 1000)
    assert blocks.ready(run, paired(markov(p), markov(q))).residuals is None
    whole = simulate(markov(p), markov(q), rule="block", gamma=2, blocks=500, keep_tokens=True)
    assert np.array_equal(looked.tokens, whole.tokens)


RNG = np.random.default_rng(3)
FOUR = [np.array([[F(int(n), 36) for n in (*w, 36 - sum(w))] for w in RNG.integers(1, 12, (4, 3))]) for _ in "pq"]
PAIR = paired(markov(FOUR[0]), markov(FOUR[1]))


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are halved until one is left, so that four tokens have trees."""
    monkeypatch.setattr(residuals, "PIECE", 1)


def law_of_block(name: str, gamma: int, known: Any, levels: Any) -> dict[Any, F]:
    run = loop(name, gamma, None, 1, None)

    def program(fork: rational.Fork) -> Any:
        state = np.array([1]), tuple((np.array([[a]]), np.array([[b]])) for a, b in levels)
        (node, after), kept, tokens = blocks.block(run, known, state, fork.uniforms(1, run.uniforms))
        changes = tuple((F(a[0, 0]), F(b[0, 0])) for a, b in after)
        ratios = tuple(b / a if a else None for a, b in changes)  # only they count
        return int(node[0]), int(kept[0]), tuple(tokens[0].tolist()), ratios

    return rational.law(program)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("name", CHAIN)
def test_the_law_of_a_block_is_that_of_rows(name: str) -> None:
    """Exactly, by forking: of kept drafts, texts and what is changed after them, by every uniform of the code."""
    known = pair_tables.searched(PAIR, find("chain", name))
    assert known.residuals.left.shape[0] == 2
    plain = known._replace(residuals=None, token_sums=None)
    changed = [((F(1), F(n, 5)),) for n in (1, 4)] if name == "greedy_block" else [()]
    for levels in changed:
        looked, rows = (law_of_block(name, 2, pair, levels) for pair in (known, plain))
        assert looked == rows
        assert sum(looked.values()) == 1
        assert len(looked) > 20


def test_a_verify_that_was_put_in_is_what_runs() -> None:
    """The scales are those of another rule then."""
    other = ModuleType("keeps_none")
    other.__dict__.update({k: v for k, v in vars(block).items() if not k.startswith("__")})
    other.__dict__["verify"] = lambda plan, x, u: (0 * x[..., 0], pick(plan.p[..., 0, :], u[..., -1]))
    p, q = some_laws(40, 40, 0.2)
    trace = simulate(markov(p), markov(q), rule=other, gamma=2, blocks=200, sequences=20)
    assert trace.tau == 1


def test_what_is_asked_of_entries_is_done_where_it_is_asked() -> None:
    here = np.array([[True, False], [False, True]])
    seen: list[Any] = []

    def doubled(w: Array) -> list[Array]:
        seen.append(w.tolist())
        return [2 * w]

    assert lazy_entries.where(here, doubled, np.array([[1, 2], [3, 4]]))[0].tolist() == [[2, 0], [0, 8]]
    assert seen == [[1, 4]]
