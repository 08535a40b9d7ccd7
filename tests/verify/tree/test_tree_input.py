"""Tree rules at the front door: verdicts, refusals by their message, batches, absent nodes and other libraries."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import specsim
from specsim import discover, guarantee
from specsim.exact.tree import continued_law, drawn_trees, expected_kept, kept_law
from specsim.report import tables as report
from specsim.types import Draws, TokenTree
from specsim.verify.sample_tree import verify_tree

Array = Any
TREE = discover.rules("tree")
TOY_P, TOY_Q = (np.array([Fraction(a, 3), Fraction(3 - a, 3)]) for a in (1, 2))
SIXTHS = [np.array([Fraction(a, 6) for a in w]) for w in ((0, 3, 3), (3, 1, 2))]  # theory/verification.md 11, error 6


@pytest.mark.parametrize("schemes", ["two", pytest.param("all", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", TREE)
def test_every_tree_rule_is_said_to_be_lossless(name: str, schemes: str) -> None:
    """By the default scheme and by "paths" or the last; slow: by all."""
    children = TREE[name].CHILDREN
    assert guarantee(name, family="tree").lossless
    for scheme in children if schemes == "all" else ("paths" if "paths" in children else children[-1],):
        assert guarantee(name, family="tree", scheme=scheme).cases == (18 if scheme == "paths" else 6)


def test_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert guarantee("tokenwise").cases == 20  # the chain rule of that name
    lossy = guarantee("tokenwise", family="tree", scheme="iid", step="greedy")
    assert not lossy.lossless
    assert "iid trees of shape" in lossy.reason
    assert guarantee("tokenwise", family="tree", scheme="iid", step="greedy", temperature=0).lossless
    traversal = [rule for rule in specsim.algorithms() if rule.name == "traversal"]
    monkeypatch.setattr(report, "rules_of_laws", lambda: traversal)  # of all rules the table takes seconds
    assert "| `traversal` | tree | without_replacement, iid, paths, beam | yes | T21 |" in report.rules_table()


@pytest.mark.parametrize(
    ("name", "step", "cases"),
    [
        pytest.param("tokenwise", "kseq", 24, marks=pytest.mark.slow),
        ("lifted", "recursive_wor", 12),
        ("tokenwise", "naive", 54),
    ],
)
def test_verdict_over_the_schemes_that_a_step_rule_verifies(name: str, step: str, cases: int) -> None:
    verdict = guarantee(name, family="tree", step=step)
    assert (verdict.lossless, verdict.cases) == (True, cases)


def kept(p: Array, q: Array, shape: Any = (-1,), scheme: str = "iid") -> Any:
    return expected_kept(p, q, rule="tokenwise", parents=shape, scheme=scheme)


STAR = TokenTree(np.array([-1, -1]), np.array([0, 1]), np.array([1, 1]), "without_replacement")
HALF = np.full((3, 2), 0.5)
PATH = TokenTree(np.array([-1, 0]), np.array([0, -1]), np.array([1, 2]), "iid")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: guarantee("traversal", scheme="deterministic"),
            "chosen are no draws from q: not lossless.*target_only",
        ),
        (lambda: guarantee("traversal", scheme="magic"), "^scheme 'magic' is unknown; schemes of trees: .*beam"),
        (lambda: guarantee("traversal", num_drafts=2), "takes its drafts from the tree, got num_drafts=2"),
        (lambda: guarantee("traversal", family="magic"), "^family 'magic' is unknown"),
        (lambda: guarantee("traversal", family="step"), "^rule 'traversal' is a tree rule, not a step rule; "),
        (lambda: guarantee("recursive", step="kseq"), "^step rule 'recursive' asks for no step rule"),
        (
            lambda: guarantee("tokenwise", family="tree", scheme="without_replacement", step="recursive"),
            "'recursive' expects drafts drawn 'iid', not 'without_replacement': not lossless",
        ),
        (
            lambda: guarantee("tokenwise", family="tree", scheme="deterministic", step="recursive"),
            "'deterministic' were chosen, which only 'naive' may ignore: not lossless",
        ),
        (
            lambda: verify_tree(HALF, HALF, STAR, [0] * 4, step="rejection"),
            "'rejection' expects drafts drawn 'iid'",
        ),
        (lambda: verify_tree(HALF, HALF, STAR, [0] * 4, rule="traversal", step="naive"), "asks for no step rule"),
        (lambda: verify_tree(HALF, HALF, STAR, [0] * 4, rule="magic"), "^rule 'magic' is unknown; tree rules: "),
        (lambda: verify_tree(HALF[:2], HALF, STAR, [0] * 4), r"^p must have 3 rows.*its shape is \(2, 2\)"),
        (lambda: verify_tree(HALF, HALF[:2], STAR, [0] * 4), r"^q must have 3 rows.*its shape is \(2, 2\)"),
        (lambda: verify_tree(HALF, HALF, STAR, [0] * 3), r"^u has shape \(3,\); this rule needs \(4,\)"),
        (lambda: verify_tree(HALF, np.eye(2)[[0, 0, 0]], STAR, [0] * 4), r"^tree.tokens\[1\] is token 1, which q at"),
        (
            lambda: verify_tree(HALF, HALF, STAR._replace(tokens=np.array([0, 2])), [0] * 4),
            "^node 1 is token 2, outside the vocabulary",
        ),
        (
            lambda: verify_tree(HALF, HALF, STAR._replace(scheme="deterministic"), [0] * 3, rule="traversal"),
            "^rule 'traversal' verifies trees of scheme without_replacement.*not 'deterministic'",
        ),
        (
            lambda: expected_kept(TOY_P, TOY_Q, rule="traversal", parents=(0,), scheme="iid"),
            r"parents\[0\] is 0",
        ),
        (lambda: kept(TOY_P, SIXTHS[0]), r"^target has 2 tokens and draft has 3: the vocabularies differ$"),
        (
            lambda: kept(TOY_P, TOY_P, (-1, 0, -1), "beam"),
            r"^the shape of scheme 'beam' is \(width, depth\), got \(-1, 0",
        ),
        (lambda: kept(TOY_P, TOY_P, (-1, 0), "beam"), "^width must be at least 1, got -1$"),
        (lambda: guarantee("block", scheme="greedy"), "^chain rule 'block' verifies single drafts.* not 'greedy'"),
        (lambda: guarantee("tokenwise", family="tree", scheme="distinct"), "^rule 'tokenwise' verifies trees of"),
        (
            lambda: expected_kept(
                lambda x: np.full(2 + len(x), 1 / (2 + len(x))), lambda _: HALF[0], rule="tokenwise", parents=(-1, 0)
            ),
            r"^target\(0,\) has 3 tokens and target\(\) has 2",
        ),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_no_model_and_no_tree() -> None:
    with pytest.raises(TypeError, match=r"^target and draft must both be models .* or both be laws"):
        expected_kept(TOY_P, lambda text: TOY_Q, rule="tokenwise", parents=(-1,))
    for tree in (None, [-1, -1]):
        with pytest.raises(TypeError, match=r"^tree must be a TokenTree \(see specsim.trees\), got "):
            verify_tree(HALF, HALF, tree, [0] * 4)


def test_verdict_of_distinct_children() -> None:
    """One draw or two at a node, by a law that looks at q; lossy where the rule is told of another law."""
    assert guarantee("lifted", scheme="distinct").lossless
    assert guarantee("lifted", scheme="distinct").cases == 4
    drawn = drawn_trees(lambda _: TOY_Q, (-1, -1), "distinct", lambda q: Draws(1, q[..., 0], 2))
    law = kept_law(TREE["lifted"], lambda _: TOY_P, drawn, draws=lambda q: Draws(1, q[..., 1], 2))
    assert any(made != goal for _, made, goal in continued_law(law, lambda _: TOY_P, 2))


@pytest.mark.parametrize("name", ["tokenwise", "target_only", pytest.param("traversal", marks=pytest.mark.slow)])
def test_absent_nodes_and_other_libraries(name: str) -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    u = [0.1] * TREE[name].uniforms(PATH)
    wanted = verify_tree(HALF, HALF, PATH, u, rule=name)
    assert (int(wanted.node), int(wanted.num_accepted)) == (1, 1)
    with jax.enable_x64(True):
        for library in (jax.numpy, torch):
            tree = PATH._replace(tokens=library.asarray(PATH.tokens))
            for p in (HALF, library.asarray(HALF)):
                found = verify_tree(p, p, tree, u, rule=name)
                assert [int(v) for v in found] == [int(v) for v in wanted]


def test_batches_broadcast() -> None:
    tokens = np.array(list(itertools.permutations(range(2))))
    u = np.full((2, 4), 0.1)
    found = verify_tree(HALF, HALF, STAR._replace(tokens=tokens), u)
    assert found.node.tolist() == [1, 1]
    assert found.token.shape == (2,)


def test_a_step_rule_is_refused_where_none_is_asked_for() -> None:
    p = np.array([Fraction(1, 2), Fraction(1, 2)])
    for call in (
        lambda: guarantee("traversal", step="kseq"),
        lambda: expected_kept(p, p, rule="traversal", parents=[-1], scheme="iid", step="kseq"),
    ):
        with pytest.raises(ValueError, match=r"^rule 'traversal' asks for no step rule, got step='kseq'$"):
            call()


@pytest.mark.parametrize("rule", TREE)
@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (0,)])
def test_batches_of_trees_without_nodes(rule: str, batch: tuple[int, ...]) -> None:
    """They are plain decoding: one draw from p for every row of the batch."""
    for scheme in TREE[rule].CHILDREN:
        tree = TokenTree(np.zeros(0, int), np.zeros((*batch, 0), int), np.zeros(0, int), scheme)
        p = np.full((*batch, 1, 3), 1 / 3)
        found = verify_tree(p, p, tree, np.full((*batch, 1), 0.5), rule=rule)
        assert found.token.shape == found.node.shape == batch
        assert (found.token == 1).all()
        assert (found.node == 0).all()
