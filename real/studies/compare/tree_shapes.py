"""Which trees a comparison runs: shapes read from an option, or chosen by acceptance by rank."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from real.decode.blocks import Score, predict_blocks
from real.decode.tree_plan import TreeVerifier
from real.studies.compare.record import Job
from specsim import discover, trees
from specsim.base import limits
from specsim.draft import distinct
from specsim.lengths import lifted_texts, traversal_texts, tree_texts
from specsim.lengths.blocks import Renewal, renewal
from specsim.types import Array, Draws
from specsim.verify.lookup import chain_rule
from specsim.verify.stepwise import Stepwise
from specsim.verify.tree import lifted

SEQUOIA = "sequoia:"
RANKS = 8  # siblings whose acceptance shapes a tree, if there are as many tokens
FIRST_TREE = 1 << 18  # keys of trees lie above those of chains, their lengths


class Asked(NamedTuple):
    """A tree as it is asked for: children by level, or a number of nodes whose best shape is to be found."""

    name: str
    branching: tuple[int, ...]  # () where the shape is to be found
    nodes: int


@dataclass(frozen=True)
class Expecting:
    """As many draws at a node as give so many distinct siblings on average, or as it has places."""

    number: int
    places: int

    def __call__(self, q: Array) -> Draws:
        """The law of the number of draws for rows q (..., V)."""
        return distinct.draws(q, self.number, self.places)


class Text(NamedTuple):
    """A text that the target wrote: what its scores say of chains, of walks in trees, and of calls in trees."""

    score: Score
    ended: bool  # of itself
    ranks: Array  # (M, T, K) acceptance by rank
    calls: Mapping[tuple[int, ...], Array] = MappingProxyType({})  # shape -> P(n >= i), (M, T, depth)


@dataclass(frozen=True)
class Entry:
    """A line of the comparison: a chain or a tree under a rule, with all that decoding and prediction need."""

    job: Job
    name: str
    rule: str
    verifier: Any  # a chain rule, or a TreeVerifier
    length: int  # drafts of a chain, levels of a tree
    nodes: int  # tokens drafted and sent to the target

    @property
    def is_tree(self) -> bool:
        """Whether it is a tree."""
        return isinstance(self.verifier, TreeVerifier)

    @property
    def parents(self) -> tuple[int, ...]:
        """The shape; a chain is a tree of one path."""
        return self.verifier.parents if self.is_tree else tuple(range(-1, self.length - 1))


def parse_tree(text: str, scheme: str = "iid") -> Asked:
    """A tree from "2,1,1,1", children by level, or "sequoia:8", the best shape of so many nodes."""
    name, problem = text.strip(), ""
    branching: tuple[int, ...] = ()
    try:
        if name.startswith(SEQUOIA):
            nodes = int(name.removeprefix(SEQUOIA))
        else:
            branching = tuple(int(part) for part in name.split(","))
            nodes = sum(math.prod(branching[: d + 1]) for d in range(len(branching)))
            problem = next((f"level {d + 1} has {k} children" for d, k in enumerate(branching) if k < 1), "")
    except ValueError:
        raise ValueError(
            f"tree {text!r} is no tree: give children by level, as 2,1,1,1, or {SEQUOIA}NODES, as {SEQUOIA}8"
        ) from None
    if problem or not 1 <= nodes <= limits.MAX_NODES:
        raise ValueError(f"tree {text!r}: {problem or f'it has {nodes} nodes'}; give 1 to {limits.MAX_NODES} nodes")
    if branching and scheme == "paths" and set(branching[1:]) - {1}:
        raise ValueError(f"tree {text!r}: paths branch at the root alone, as 2,1,1")
    if not branching and scheme not in tree_texts.STEPS:
        raise ValueError(
            f"tree {text!r}: acceptance by rank, which shapes it, is known for siblings drawn "
            f"{', '.join(tree_texts.STEPS)}, not {scheme!r}; give children by level"
        )
    return Asked(name, branching, nodes)


def shaped(asked: Asked, scheme: str, ranks: Array | None = None) -> tuple[int, ...]:
    """Parents of the tree; where nodes are given the best by acceptance of each rank (K,), a single one without it."""
    if not asked.branching:
        found = trees.chain(1) if ranks is None else trees.sequoia_tree(ranks, nodes=asked.nodes).parents
    elif scheme == "paths":
        found = trees.paths(asked.branching[0], len(asked.branching))
    else:
        found = trees.k_ary(asked.branching)
    return tuple(int(parent) for parent in found)


def mean_ranks(texts: Sequence[Text]) -> list[float]:
    """Acceptance by rank, mean over the positions of all texts."""
    found = np.concatenate([text.ranks.mean(axis=0) for text in texts]).mean(axis=0)
    return [float(b) for b in np.maximum(found, 0) / max(found.sum(), 1)]


def chain_entry(gamma: int, rule: str) -> Entry:
    """A chain under a chain rule."""
    return Entry(Job(gamma, rule), f"chain of {gamma}", rule, chain_rule(rule), gamma, gamma)


def tree_entry(
    place: int,
    asked: Asked,
    rule: str,
    scheme: str,
    parents: Sequence[int],
    step: str | None = None,
    draws: int | None = None,
) -> Entry:
    """A tree under a tree rule; `place` keeps its randomness apart from that of others, whatever the rule."""
    places = max(map(len, trees.children(parents)))
    if draws is not None and draws > places:
        raise ValueError(f"draws is {draws}, but a node of tree {asked.name} has {places} places for siblings at most")
    law = None if draws is None else Expecting(draws, places)
    verifier = TreeVerifier(rule, parents, scheme, step, law)
    return Entry(Job(FIRST_TREE + place, rule), asked.name, rule, verifier, verifier.depth, len(verifier.parents))


def predicted(entry: Entry, text: Text) -> tuple[Renewal, list[float]] | None:
    """Block starts along a text, and target calls without each sample of siblings; None where no law is known.

    Known are a tokenwise walk, traversal verification of siblings without replacement, and a step rule that is lifted.
    A tree of one path, drawn from q, is a chain under the chain rule that its rule is there.
    """
    rule = _chain_rule(entry)
    if rule is not None:
        found = predict_blocks(text.score, entry.length, rule, ended=text.ended)
        return found, [float(found.blocks)]
    if is_walk(entry.verifier):
        rows = tree_texts.walk_survival(tree_texts.averaged(text.ranks), entry.parents)
        without = tree_texts.walk_survival(tree_texts.left_out(text.ranks), entry.parents)
    elif has_calls(entry.verifier):
        samples = text.calls[entry.parents]
        rows, without = (traversal_texts.fitted(f(samples)) for f in (tree_texts.averaged, tree_texts.left_out))
    else:
        return None
    return renewal(rows, ended=text.ended), [float(renewal(one, ended=text.ended).blocks) for one in without]


def is_walk(verifier: TreeVerifier) -> bool:
    """Whether the rule is a tokenwise walk whose law given the text is known."""
    own = tree_texts.STEPS.get(verifier.scheme)
    return verifier.rule is discover.find("tree", "tokenwise") and own is not None and verifier.step in (None, own)


def has_calls(verifier: TreeVerifier) -> bool:
    """Whether the rule calls nodes with weights in a way whose law given the text is known.

    Lifting recursive rejection without replacement makes traversal verification (T23); of i.i.d. siblings the law is
    known for every step rule.
    """
    name, scheme = discover.name_of(verifier.rule), verifier.scheme
    if scheme == "iid":
        return name == "lifted"
    return scheme == "without_replacement" and name in ("traversal", "lifted") and _own_step(verifier)


def call_samples(
    scheme: str, p: Array, q: Array, y: Array, parents: tuple[int, ...], seed: int, step: str | None = None
) -> Array:
    """P(n >= i) along a text under a rule that `has_calls`: estimates (M, T, depth)."""
    if scheme == "iid":
        return lifted_texts.lifted_samples(p, q, y, parents, step=step or lifted.STEPS[scheme], seed=seed)
    return traversal_texts.traversal_samples(p, q, y, parents, seed=seed)


def _chain_rule(entry: Entry) -> ModuleType | Stepwise | None:
    """The chain rule that an entry runs, if it does."""
    if not entry.is_tree:
        return entry.verifier  # type: ignore[no-any-return]
    name, verifier = discover.facts(entry.verifier.rule).chain, entry.verifier
    one_path = verifier.most == 1 and len(verifier.parents) == verifier.depth
    drawn = verifier.scheme != "deterministic" and _own_step(verifier)
    return chain_rule(name) if name is not None and one_path and drawn else None


def _own_step(verifier: TreeVerifier) -> bool:
    """Whether a rule runs the step rule that is its own for the scheme, or none."""
    return verifier.step in (None, discover.facts(verifier.rule).steps.get(verifier.scheme))
