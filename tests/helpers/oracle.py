"""Questions to the program extracted from the machine proofs, and comparisons with its answers."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from specsim import discover, optimum, trees
from specsim.exact import chain
from specsim.exact.tree import texts
from specsim.forking import rational
from specsim.testing.strategies import law_pairs as special_pairs
from specsim.types import TokenTree
from specsim.verify.step import optimal
from specsim.verify.tree import multipath_block

MUTANTS = Path(__file__).parents[1] / "mutants"


class Case(NamedTuple):
    """Rows and drafts: one position (V,) and K drafts, or the rows along a block of gamma drafts."""

    p: Any
    q: Any
    drafts: tuple[int, ...]


class Oracle(NamedTuple):
    program: Any

    def ask(self, *words: object) -> list[Fraction]:
        self.program.stdin.write(" ".join(map(str, words)) + "\n")
        self.program.stdin.flush()
        reply = self.program.stdout.readline().strip()
        assert reply[:1] not in ("", "?"), f"the oracle answers {reply!r} to {words}"
        return [Fraction(number) for number in reply.split(",")]


def law_pairs(vocab: int) -> st.SearchStrategy[Any]:
    """Pairs (p, q), every fourth of them from the strategy that prefers special ones (equal, one-hot, apart)."""

    def pair(seed: int) -> st.SearchStrategy[Any]:
        weights = np.random.default_rng(seed).integers(0, 7, (2, vocab)) + np.eye(vocab, dtype=np.int64)[seed % vocab]
        laws = tuple(np.array([Fraction(int(w), int(sum(law))) for w in law], dtype=object) for law in weights)
        return st.just(laws) if seed % 4 else special_pairs(vocab)

    return st.integers(0, 2**32 - 1).flatmap(pair)


def row(law: Any) -> str:
    return ",".join(str(Fraction(mass)) for mass in law)


def rows(laws: Any) -> str:
    return ";".join(map(row, laws)) or "-"


def ids(tokens: Any) -> str:
    return ",".join(str(int(token)) for token in tokens) or "-"


def rule(family: str, name: str) -> ModuleType:
    return discover.find(family, name)


def mutant(family: str, name: str) -> ModuleType:
    path = MUTANTS / family / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"oracle_{family}_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@st.composite
def positions(draw: Any, name: str) -> Case:
    """One position with drafts that the rule's scheme can draw, more than the support has tokens included."""
    p, q = draw(law_pairs(draw(st.integers(2, 4))))
    k = draw(st.integers(1, 1 if name == "rejection" else 3))
    if name == "spechub":  # two drafts, and more than one token to draw; one draft is rejection
        assume(max(q) < 1)
        hub, rest = discover.find("draft", "hub").split(q, 2)
        other = draw(st.sampled_from([v for v, mass in enumerate(rest) if mass]))
        return Case(p, q, draw(st.sampled_from([(other, int(hub)), (int(hub), other)])))
    scheme = {"recursive_wor": "without_replacement", "greedy_draft": "greedy"}.get(name, "iid")
    return Case(p, q, draw(siblings(q, scheme, k)))


@st.composite
def siblings(draw: Any, q: Any, scheme: str, k: int) -> tuple[int, ...]:
    """k tokens that the scheme can draw from q."""

    def token(law: Any) -> int:
        return int(draw(st.sampled_from([v for v, mass in enumerate(law) if mass])))

    if scheme == "greedy":
        top, last = discover.find("draft", "greedy").split(q, k)
        return (*map(int, top), token(last))
    drafts_so_far: list[int] = []
    for _ in range(k):
        drafts_so_far.append(token(q))
        q = (
            discover.find("draft", scheme).without(q, np.array(drafts_so_far[-1]))
            if scheme == "without_replacement"
            else q
        )
    return tuple(drafts_so_far)


@st.composite
def drafted_blocks(draw: Any) -> Case:
    """Rows along a block of up to three drafts, each of positive draft probability."""
    vocab, gamma = draw(st.integers(2, 3)), draw(st.integers(0, 3))
    pairs = [draw(law_pairs(vocab)) for _ in range(gamma + 1)]
    p = np.array([pair[0] for pair in pairs], dtype=object)
    q = np.array([pair[1] for pair in pairs[:gamma]], dtype=object).reshape(gamma, vocab)
    return Case(p, q, tuple(draw(st.sampled_from([v for v in range(vocab) if law[v]])) for law in q))


def proven_step(oracle: Oracle, name: str, case: Case, rho: object) -> list[Fraction]:
    p, q, x = case
    words: list[object] = [row(p), row(q), ids(x)]
    if name == "naive":
        words = [row(p), ids(x)]
    if name == "greedy":
        words = [int(np.argmax(p))]
    if name == "greedy_draft":
        words = [row(p), row(q), ids(x[:-1]), ids(x[-1:])]
    if name == "spechub":
        hub = int(np.argmax(q))
        words = [row(p), row(q), hub, int(x[0] == hub), x[1] if x[0] == hub else x[0]]
    if name == "kseq":
        words = [len(x), rho, *words]
    return oracle.ask(name, len(p), *words)


def plan_of(module: ModuleType, case: Case) -> Any:
    takes_rho = "rho" in inspect.signature(module.prepare).parameters
    params = {"rho": np.array([Fraction(len(case.drafts))], dtype=object)} if takes_rho else {}
    return module.prepare(case.p, case.q, len(case.drafts), **params)


def step_agrees(oracle: Oracle, module: ModuleType, name: str, case: Case) -> bool:
    """The law that the rule states, and that of its sampler; K-SEQ at rho = K, which is valid."""
    plan, x = plan_of(module, case), np.array(case.drafts)
    proven = proven_step(oracle, name, case, len(x))
    if proven != list(module.transition(plan, x)):
        return False
    law = rational.law(lambda fork: int(module.verify(plan, x, fork.uniforms(module.uniforms(len(x))))))
    return law == {token: mass for token, mass in enumerate(proven) if mass}


def block_agrees(oracle: Oracle, module: ModuleType, name: str, case: Case) -> bool:
    law = module.transition(module.prepare(case.p, case.q), np.array(case.drafts, dtype=np.int64))
    return bool(oracle.ask(name, case.p.shape[-1], rows(case.p), rows(case.q), ids(case.drafts)) == list(law.ravel()))


def texts_agree(oracle: Oracle, module: ModuleType, case: Case) -> bool:
    """The law of the first gamma tokens, what the rule says of the tokens after a block included."""
    vocab, gamma = case.p.shape[-1], len(case.drafts)
    words = [list(itertools.product(range(vocab), repeat=i)) for i in range(gamma + 1)]
    target, draft = ({text: w[i] for i in range(len(w)) for text in words[i]} for w in (case.p, case.q))
    plan, x = module.prepare(case.p, case.q), np.array(case.drafts, dtype=np.int64)
    joint, law = module.transition(plan, x), dict.fromkeys(words[gamma], Fraction(0))
    for n, y in zip(*np.nonzero(joint), strict=True):
        state = chain.after_block(module, plan, x, n, y)
        for text, mass in chain._continued(target, draft, (*case.drafts[:n], int(y)), state, gamma + 1):
            law[text[:gamma]] += joint[n, y] * mass
    asked = ";".join(map(ids, law))
    return oracle.ask("greedy_texts", vocab, rows(case.p), rows(case.q), ids(x), asked) == list(law.values())


def winner_agrees(oracle: Oracle, module: ModuleType, p: Any, q: Any, num_drafts: int) -> bool:
    """The winner's law is the clipped law at its levels, and its acceptance is 1 - TV(p, w) and the optimum."""
    plan, best = module.prepare(p, q, num_drafts), optimum(p, q, num_drafts=num_drafts)
    clipped = oracle.ask("clipped", len(p), plan.fill[0], plan.cut[0], row(p), row(q))
    (kept,) = oracle.ask("overlap", len(p), row(p), row(clipped))
    tuples = np.stack(np.meshgrid(*[np.arange(len(p))] * num_drafts, indexing="ij"), axis=-1).reshape(-1, num_drafts)
    law = module.transition(module.prepare(p[None], q[None], num_drafts), tuples)
    chance = np.array([np.prod([q[v] for v in x]) for x in tuples], dtype=object)[:, None]
    hit = np.array([[y in x for y in range(len(p))] for x in tuples])
    same_law = num_drafts == 1 or bool(list(best.plan) == clipped)
    return bool(
        same_law and (chance * law * hit).sum() == kept == best.value and list((chance * law).sum(0)) == list(p)
    )


def labels_agree(oracle: Oracle, module: ModuleType, p: Any, q: Any, num_drafts: int) -> bool:
    """The rule's labels are the proven ones, and the winner's law from them is the law it is verified against."""
    plan = module.prepare(p, q, num_drafts)
    by_token = optimal._label_law(plan, np.arange(len(p)))[:, plan.place]
    won = oracle.ask("label_law", len(p), num_drafts, row(q), rows(by_token), ids(plan.place))
    levels = plan.fill[0], plan.cut[0], row(p), row(q)
    proven = oracle.ask("labels", len(p), num_drafts, *levels, ids(plan.place))
    return proven == list(by_token.ravel()) and won == oracle.ask("clipped", len(p), *levels)


def by_last_token(table: list[Any]) -> Any:
    return lambda text: table[text[-1] + 1 if text else 0]


class Grown(NamedTuple):
    """A drafted tree on laws that depend on the last token: row 0 at the start, row v + 1 after token v."""

    p: Any
    q: Any
    tree: TokenTree


SHAPES = ([], [-1], [-1, -1], [-1, 0], [-1, -1, -1], [-1, -1, 0], [-1, 0, 0], [-1, -1, 0, 1], [-1, 0, 0, 1])
STEPS = {"iid": "recursive", "without_replacement": "recursive_wor", "greedy": "greedy_draft"}


@st.composite
def grown(draw: Any, scheme: str) -> Grown:
    """A shape, and siblings at every node as the scheme can draw them."""
    vocab, parents = draw(st.integers(2, 3)), draw(st.sampled_from(SHAPES))
    p, q = (
        np.array(laws, dtype=object) for laws in zip(*[draw(law_pairs(vocab)) for _ in range(vocab + 1)], strict=True)
    )
    tokens = np.full(len(parents), -1)
    for node in range(-1, len(parents)):
        children = [i for i, parent in enumerate(parents) if parent == node]
        if children:
            tokens[children] = draw(siblings(q[tokens[node] + 1 if node >= 0 else 0], scheme, len(children)))
    up = np.array(parents, dtype=np.int64)
    return Grown(p, q, TokenTree(up, tokens, trees.depths(up), scheme))


@st.composite
def drafted_paths(draw: Any) -> Grown:
    """Up to three paths of up to two tokens, of positive draft probability, all alike in length."""
    vocab, count, length = draw(st.integers(2, 3)), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    p, q = (
        np.array(laws, dtype=object) for laws in zip(*[draw(law_pairs(vocab)) for _ in range(vocab + 1)], strict=True)
    )
    tokens: list[int] = []
    for i in range(count * length):
        (token,) = draw(siblings(q[tokens[-1] + 1 if i % length else 0], "iid", 1))
        tokens.append(token)
    up = trees.paths(count, length)
    return Grown(p, q, TokenTree(up, np.array(tokens, dtype=np.int64), trees.depths(up), "paths"))


def proven_tree(oracle: Oracle, name: str, case: Grown) -> dict[Any, Fraction]:
    """The law of (text kept, next token) of the extracted rule."""
    vocab, up, x = case.p.shape[-1], ids(1 + case.tree.parents), ids(case.tree.tokens)
    if name == "multipath_block":
        count = max(int((case.tree.parents < 0).sum()), 1)
        places = ";".join(ids(multipath_block._ranked(*laws)[0]) for laws in zip(case.p, case.q, strict=True))
        words: list[object] = [rows(case.q), up, x, places, count]
    elif name == "target_only":
        words = [up, x]
    elif name == "traversal":
        words = [rows(case.q), up, x]
    else:
        words = [rows(case.q), list(STEPS).index(case.tree.scheme), up, x]
    law = np.array(oracle.ask({"tokenwise": "walk"}.get(name, name), vocab, rows(case.p), *words)).reshape(-1, vocab)
    return {(*text, y): law[i, y] for i, text in enumerate(texts(case.tree)) for y in range(vocab) if law[i, y]}


def tree_agrees(oracle: Oracle, module: ModuleType, name: str, case: Grown) -> bool:
    """The law that the rule states, and that of its sampler."""
    paths = texts(case.tree)
    p, q = (np.stack([w[path[-1] + 1 if path else 0] for path in paths]) for w in (case.p, case.q))
    step = {"step": STEPS[case.tree.scheme]} if name in ("tokenwise", "lifted") else {}
    plan = module.prepare(p, q, case.tree, **step)
    stated = {(*paths[i], int(y)): mass for (i, y), mass in np.ndenumerate(module.transition(plan)) if mass}

    def sample(fork: Any) -> Any:
        node, y = module.verify(plan, fork.uniforms(module.uniforms(case.tree, **step)))
        return (*paths[int(node)], int(y))

    return stated == rational.law(sample) == proven_tree(oracle, name, case)
