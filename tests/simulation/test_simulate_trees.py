"""Simulated decoding with beams, with distinct siblings and with chosen step rules, against exact numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from specsim import block_chain, discover, expected_kept, guarantee, markov, simulate
from specsim.draft import distinct
from specsim.exact.family_verdicts import tree_verdict
from specsim.simulation import blocks, conditional_tau, decode_loop
from specsim.simulation.chain_of_blocks import grown_chains
from specsim.simulation.shards import SHARD
from specsim.testing import assert_law
from specsim.trees import (
    Grown,
    beam_tree,
    beam_uniforms,
    beams,
    deterministic_tokens,
    eagle2_tree,
    heap_tree,
    k_ary,
    speed_of_light,
)
from specsim.trees.beam import packed
from specsim.trees.likeliest import pruned
from specsim.types import Array, Draws, Model, TokenTree
from specsim.verify.tree import lifted

SURE = 1 - 1e-6  # level of the intervals in these tests: one false alarm in a million
# The last two tokens count: with one, the state after a node is that of its token, whatever its parents.
TARGET, DRAFT = (markov(table) for table in np.random.default_rng(4).dirichlet(np.ones(3), (2, 3, 3)))
BEAM_RULES = [name for name, rule in discover.rules("tree").items() if "beam" in rule.CHILDREN]
PLACES = [-1, -1, -1, 0, 1, 2]  # two distinct siblings expected in three places, and a child of each
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    *((rule, {"parents": (2, 2), "scheme": "beam"}, {"parents": (2, 2), "scheme": "beam"}) for rule in BEAM_RULES),
    (
        "lifted",
        {"parents": PLACES, "scheme": "distinct", "num_drafts": 2},
        {"parents": PLACES, "scheme": "distinct", "draws": lambda q: distinct.draws(q, 2, 3)},
    ),
    *(
        ("tokenwise", {"parents": k_ary((2, 1)), "scheme": "iid", "step": s}, {"parents": k_ary((2, 1)), "step": s})
        for s in ("kseq", "optimal")
    ),
]
IDS = [f"{rule}-{options['scheme']}-{options.get('step', '')}" for rule, options, _ in CASES]


@pytest.mark.parametrize(("rule", "options", "exact"), CASES, ids=IDS)
def test_first_blocks_keep_what_is_expected(rule: str, options: dict[str, Any], exact: dict[str, Any]) -> None:
    """The simulator and the conditional estimate against enumeration."""
    tau = 1 + expected_kept(TARGET, DRAFT, rule=rule, **exact)
    low, high = simulate(TARGET, DRAFT, rule=rule, blocks=20_000, sequences=20_000, **options).tau_interval(SURE)
    found = conditional_tau(TARGET, DRAFT, rule=rule, blocks=4000, sequences=4000, level=SURE, **options)
    assert low < tau < high < low + 0.1
    assert found.low < tau < found.high < found.low + 0.1


@pytest.mark.parametrize(("rule", "options"), [case[:2] for case in CASES], ids=IDS)
def test_texts_follow_the_target(rule: str, options: dict[str, Any]) -> None:
    """Three tokens, over one block or more. False-alarm rate 1e-9; a law 0.08 away is found as surely."""
    assert_texts(rule, options)


def assert_texts(rule: str, options: dict[str, Any]) -> None:
    trace = simulate(TARGET, DRAFT, rule=rule, tokens=3 * 20_000, sequences=20_000, keep_tokens=True, **options)
    assert ((trace.tokens >= 0).sum(axis=1) == trace.lengths).all()
    law = [math.prod(float(TARGET(w[:i])[y]) for i, y in enumerate(w)) for w in np.ndindex(3, 3, 3)]
    assert_law(trace.tokens[:, :3] @ [9, 3, 1], np.array(law), false_alarm=1e-9)


def test_a_beam_with_other_parents_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every node below the best one of the level before: the text is no longer the target's."""

    def wrong(levels: list[Any]) -> Any:
        return packed([level._replace(parents=0 * level.parents) for level in levels])

    monkeypatch.setattr(blocks, "packed", wrong)
    with pytest.raises(AssertionError):
        assert_texts("traversal", {"parents": (2, 2), "scheme": "beam"})


def test_distinct_siblings_verified_by_another_number_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule is told that two draws were always made, where their number is random."""
    right = decode_loop.Loop.prepare

    def wrong(self: decode_loop.Loop, p: Array, q: Array, tree: TokenTree) -> Any:
        return right(self._replace(num_drafts=1), p, q, tree)

    monkeypatch.setattr(decode_loop.Loop, "prepare", wrong)
    with pytest.raises(AssertionError):
        assert_texts(*CASES[len(BEAM_RULES)][:2])


@pytest.mark.parametrize("rule", BEAM_RULES)
def test_a_batch_of_beams_is_its_beams(rule: str) -> None:
    """Laws given the tree: parents of each row's own against one tree at a time; a row's parents are read."""
    module, rng = discover.find("tree", rule), np.random.default_rng(1)
    p, u = rng.dirichlet(np.ones(4), 8), rng.random((6, beam_uniforms(3, 3, 4)))
    table = rng.dirichlet(np.ones(4), 4)

    def draft(text: tuple[Any, ...]) -> Array:
        return table[text[-1]] if text else np.broadcast_to(table[0], np.shape(table[0]))

    tree, q = packed(beams(draft, u, width=3, depth=3))
    rows = p[np.arange(60).reshape(6, 10) % 8]
    law = module.transition(module.prepare(rows, q, tree))
    for i in range(6):
        one = beam_tree(draft, u[i], width=3, depth=3)
        assert one.tree.parents.tolist() == tree.parents[i].tolist()
        assert np.allclose(module.transition(module.prepare(rows[i], one.q, one.tree)), law[i], atol=1e-15)
    assert len({tuple(row) for row in tree.parents}) > 1
    turned = module.transition(module.prepare(rows, q, tree._replace(parents=np.roll(tree.parents, 1, axis=0))))
    assert abs(turned - law).max() > 0.01


@pytest.mark.parametrize(("rule", "options"), [CASES[i][:2] for i in (1, len(BEAM_RULES))])
def test_jax_writes_the_same_texts(rule: str, options: dict[str, Any]) -> None:
    pytest.importorskip("jax")
    one, other = (
        simulate(TARGET, DRAFT, rule=rule, blocks=640, sequences=64, keep_tokens=True, backend=backend, **options)
        for backend in ("numpy", "jax")
    )
    assert (one.tokens == other.tokens).all()
    assert (one.kept == other.kept).all()


def test_long_rows_run_in_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their size does not matter."""
    options: dict[str, Any] = {
        "rule": "traversal",
        "parents": (2, 2),
        "scheme": "beam",
        "blocks": 300,
        "sequences": 300,
    }
    run = decode_loop.loop("traversal", None, (2, 2), 1, "beam", None, 3)
    whole = simulate(TARGET, DRAFT, keep_tokens=True, **options)
    monkeypatch.setattr(decode_loop, "CELLS", 7 * 5 * 3)
    assert run.together == 7 < SHARD
    parts = simulate(TARGET, DRAFT, keep_tokens=True, **options)
    assert np.array_equal(whole.tokens, parts.tokens)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parents": [-1, 0, 1], "scheme": "beam"}, r"parents must be \(width, depth\) for scheme 'beam'"),
        ({"parents": (0, 2), "scheme": "beam"}, r"parents\[0\] must be at least 1, got 0"),
        ({"parents": [-1, -1], "num_drafts": 2}, r"tree rule 'lifted' has no num_drafts, got 2"),
        ({"parents": [-1, -1], "scheme": "distinct", "num_drafts": 3}, r"num_drafts=3 distinct .* in 2 places"),
        ({"parents": [-1, -1, 0, 0, 0], "scheme": "distinct"}, r"tree has nodes with \[2, 3\] children"),
        ({"parents": [-1, -1], "scheme": "hub"}, r"rule 'lifted' verifies trees drawn .* or distinct, not 'hub'"),
        ({"parents": [-1, -1], "step": "spechub"}, r"rule 'spechub' expects drafts drawn 'hub'"),
        ({"gamma": 2, "rule": "block", "step": "optimal"}, r"step='optimal' is for tree rules"),
        ({"parents": [-1], "rule": "target_only", "step": "optimal"}, r"asks for no step rule"),
    ],
)
def test_bad_input(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(TARGET, DRAFT, **{"rule": "lifted", "blocks": 1} | options)


def test_too_many_trees_to_sum_over() -> None:
    for options in (
        {"parents": (2, 2), "scheme": "beam"},
        {"parents": [-1, -1], "scheme": "distinct", "num_drafts": 2},
    ):
        with pytest.raises(ValueError, match=r"too many drafts to sum over, more than \d+; use simulate"):
            block_chain(TARGET, DRAFT, rule="lifted", **options)


def test_grown_trees_are_exact_in_every_context() -> None:
    """Against the tree's value under the target; none is better than the target's own, and pruning is growing."""
    budgets = (1, 3, 6)

    def eagle(model: Model, nodes: int = 6) -> Grown:
        return eagle2_tree(model, top_k=2, depth=3, nodes=nodes)

    for grow in (eagle, heap_tree):
        chains = grown_chains(
            TARGET, DRAFT, lambda model, grow=grow: [pruned(grow(model, nodes=6), n) for n in budgets]
        )
        best = grown_chains(TARGET, TARGET, lambda model: [heap_tree(model, nodes=n) for n in budgets])
        for n, found, oracle in zip(budgets, chains, best, strict=True):
            assert (found.tau <= oracle.tau).all()
            for s in range(3):
                models = [m._replace(start=s) for m in (TARGET, DRAFT)]
                whole = grow(models[1], nodes=n)
                short = pruned(grow(models[1], nodes=6), n)
                assert whole.tree.parents.tolist() == short.tree.parents.tolist()
                assert whole.tree.tokens.tolist() == short.tree.tokens.tolist()
                assert found.tau[s] == pytest.approx(float(deterministic_tokens(models[0], whole.tree)), abs=1e-12)
                assert oracle.tau[s] == pytest.approx(float(speed_of_light(models[0], nodes=n)), abs=1e-12)
        assert (chains[-1].tau < best[-1].tau - 0.01).any()
        assert np.allclose(chains[-1].jump.sum(axis=-1), 1)


def test_lifted_distinct_is_lossless_by_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not if two draws are taken for granted where sometimes one is made."""
    assert guarantee("lifted", scheme="distinct").lossless
    law, two = lifted._law, lambda q: Draws(2, 0, 2)
    monkeypatch.setattr(lifted, "_law", lambda rule, target, q, level, draws: law(rule, target, q, level, two))
    tree_verdict.cache_clear()
    assert not guarantee("lifted", scheme="distinct").lossless
    tree_verdict.cache_clear()
