"""The trees of a comparison: shapes are read from an option, or chosen by acceptance by rank."""

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

# A tree option that begins so has the number of nodes behind it.
SEQUOIA = "sequoia:"
# Siblings whose acceptance shapes a tree, if there are as many tokens.
RANKS = 8
# Keys of trees lie above those of chains, which are lengths.
FIRST_TREE = 1 << 18


class TreeOption(NamedTuple):
    """A tree option: children by level, or a number of nodes whose best shape is to be chosen."""

    name: str
    # Children by level; () where the shape is to be chosen.
    branching: tuple[int, ...]
    nodes: int


@dataclass(frozen=True)
class Expecting:
    """Draws at a node until `number` distinct siblings are expected, at most as many as places."""

    number: int
    places: int

    def __call__(self, q: Array) -> Draws:
        """Return the law of the number of draws for rows q (..., V)."""
        return distinct.draws(q, self.number, self.places)


class Text(NamedTuple):
    """A text that the target wrote, with its scores for chains, and for walks and calls in trees."""

    score: Score
    # Whether the text ended of itself.
    ended: bool
    # Acceptance by rank, (M, T, K), in M samples of siblings.
    ranks: Array
    # Shape -> P(n >= i), (M, T, depth), in M samples of siblings.
    calls: Mapping[tuple[int, ...], Array] = MappingProxyType({})


@dataclass(frozen=True)
class Entry:
    """A line of the comparison: a chain or a tree under a rule, as decoding and prediction need it."""

    job: Job
    name: str
    rule: str
    # A chain rule, or a TreeVerifier.
    verifier: Any
    # Drafts of a chain, levels of a tree.
    length: int
    # Tokens drafted and sent to the target.
    nodes: int

    @property
    def is_tree(self) -> bool:
        """Whether it is a tree."""
        return isinstance(self.verifier, TreeVerifier)

    @property
    def parents(self) -> tuple[int, ...]:
        """Return the shape; a chain is a tree of one path."""
        return self.verifier.parents if self.is_tree else tuple(range(-1, self.length - 1))


def parse_tree(text: str, scheme: str = "iid") -> TreeOption:
    """Read "2,1,1,1", children by level, or "sequoia:8", the best shape of 8 nodes."""
    # The number of nodes, or children by level.
    name, problem = text.strip(), ""
    branching: tuple[int, ...] = ()
    try:
        if name.startswith(SEQUOIA):
            nodes = int(name.removeprefix(SEQUOIA))
        else:
            branching = tuple(int(part) for part in name.split(","))
            nodes = sum(math.prod(branching[: d + 1]) for d in range(len(branching)))
            problems = (f"level {d + 1} has {k} children" for d, k in enumerate(branching) if k < 1)
            problem = next(problems, "")
    except ValueError:
        raise ValueError(
            f"tree {text!r} is no tree: give children by level, as 2,1,1,1, or {SEQUOIA}NODES, as {SEQUOIA}8"
        ) from None

    # Refuse trees that are too small or large, or that the scheme cannot draw.
    if problem or not 1 <= nodes <= limits.MAX_NODES:
        problem = problem or f"it has {nodes} nodes"
        raise ValueError(f"tree {text!r}: {problem}; give 1 to {limits.MAX_NODES} nodes")
    if branching and scheme == "paths" and set(branching[1:]) - {1}:
        raise ValueError(f"tree {text!r}: paths branch at the root alone, as 2,1,1")
    if not branching and scheme not in tree_texts.STEPS:
        raise ValueError(
            f"tree {text!r}: acceptance by rank, which shapes it, is known for siblings drawn "
            f"{', '.join(tree_texts.STEPS)}, not {scheme!r}; give children by level"
        )
    return TreeOption(name, branching, nodes)


def shaped(option: TreeOption, scheme: str, ranks: Array | None = None) -> tuple[int, ...]:
    """Return the parents of the tree that an option names.

    The shape of a number of nodes is the best by acceptance of each rank (K,); without that it is a
    single node.
    """
    if option.branching and scheme == "paths":
        parents = trees.paths(option.branching[0], len(option.branching))
    elif option.branching:
        parents = trees.k_ary(option.branching)
    elif ranks is None:
        parents = trees.chain(1)
    else:
        parents = trees.sequoia_tree(ranks, nodes=option.nodes).parents
    return tuple(int(parent) for parent in parents)


def mean_ranks(texts: Sequence[Text]) -> list[float]:
    """Return acceptance by rank, mean over the positions of all texts."""
    ranks = np.concatenate([text.ranks.mean(axis=0) for text in texts]).mean(axis=0)
    # Sampled acceptances may be a little below 0, or add up to a little more than 1.
    return [float(rate) for rate in np.maximum(ranks, 0) / max(ranks.sum(), 1)]


def chain_entry(gamma: int, rule: str) -> Entry:
    """Return a chain under a chain rule."""
    return Entry(Job(gamma, rule), f"chain of {gamma}", rule, chain_rule(rule), gamma, gamma)


def tree_entry(
    place: int,
    option: TreeOption,
    rule: str,
    scheme: str,
    parents: Sequence[int],
    step: str | None = None,
    draws: int | None = None,
) -> Entry:
    """Return a tree under a tree rule.

    `place` keeps its randomness apart from that of others, whatever the rule.
    """
    # A node may draw more often than it has different siblings, up to its places.
    places = max(map(len, trees.children(parents)))
    if draws is not None and draws > places:
        raise ValueError(f"draws is {draws}, but a node of tree {option.name} has {places} places for siblings at most")
    law = None if draws is None else Expecting(draws, places)
    verifier = TreeVerifier(rule, parents, scheme, step, law)
    return Entry(
        job=Job(FIRST_TREE + place, rule),
        name=option.name,
        rule=rule,
        verifier=verifier,
        length=verifier.depth,
        nodes=len(verifier.parents),
    )


def predicted(entry: Entry, text: Text) -> tuple[Renewal, list[float]] | None:
    """Return the block starts along a text, and the target calls without each sample of siblings.

    None where no law is known. It is known of a tokenwise walk, of traversal verification of
    siblings without replacement, and of a step rule that is lifted. A tree of one path, drawn from
    q, is a chain, and its rule is a chain rule there.
    """
    # Chains have no siblings: leaving their only sample out changes nothing.
    rule = _chain_rule(entry)
    if rule is not None:
        renewed = predict_blocks(text.score, entry.length, rule, ended=text.ended)
        return renewed, [float(renewed.blocks)]

    # Survival (T, depth) over all samples, and without each of them.
    if is_walk(entry.verifier):
        rows = tree_texts.walk_survival(tree_texts.averaged(text.ranks), entry.parents)
        without = tree_texts.walk_survival(tree_texts.left_out(text.ranks), entry.parents)
    elif has_calls(entry.verifier):
        samples = text.calls[entry.parents]
        rows = traversal_texts.fitted(tree_texts.averaged(samples))
        without = traversal_texts.fitted(tree_texts.left_out(samples))
    else:
        return None
    calls = [float(renewal(survival, ended=text.ended).blocks) for survival in without]
    return renewal(rows, ended=text.ended), calls


def is_walk(verifier: TreeVerifier) -> bool:
    """Return whether the rule is a tokenwise walk whose law given the text is known."""
    step = tree_texts.STEPS.get(verifier.scheme)
    is_tokenwise = verifier.rule is discover.find("tree", "tokenwise")
    return is_tokenwise and step is not None and verifier.step in (None, step)


def has_calls(verifier: TreeVerifier) -> bool:
    """Return whether the rule calls nodes with weights whose law given the text is known.

    Lifting recursive rejection without replacement makes traversal verification (T23); of i.i.d.
    siblings the law is known for every step rule.
    """
    name, scheme = discover.name_of(verifier.rule), verifier.scheme
    if scheme == "iid":
        return name == "lifted"
    is_traversal = name in ("traversal", "lifted") and _has_default_step(verifier)
    return scheme == "without_replacement" and is_traversal


def call_samples(
    scheme: str,
    p: Array,
    q: Array,
    y: Array,
    parents: tuple[int, ...],
    seed: int,
    step: str | None = None,
) -> Array:
    """Return P(n >= i) along a text under a rule that `has_calls`: estimates (M, T, depth)."""
    if scheme == "iid":
        step = step or lifted.STEPS[scheme]
        return lifted_texts.lifted_samples(p, q, y, parents, step=step, seed=seed)
    return traversal_texts.traversal_samples(p, q, y, parents, seed=seed)


def _chain_rule(entry: Entry) -> ModuleType | Stepwise | None:
    """Return the chain rule that an entry runs; None for a tree of several paths."""
    if not entry.is_tree:
        return entry.verifier  # type: ignore[no-any-return]
    name, verifier = discover.facts(entry.verifier.rule).chain, entry.verifier
    is_path = verifier.most == 1 and len(verifier.parents) == verifier.depth
    is_drawn = verifier.scheme != "deterministic" and _has_default_step(verifier)
    return chain_rule(name) if name is not None and is_path and is_drawn else None


def _has_default_step(verifier: TreeVerifier) -> bool:
    """Return whether a rule runs the scheme's default step rule, or none."""
    return verifier.step in (None, discover.facts(verifier.rule).steps.get(verifier.scheme))
