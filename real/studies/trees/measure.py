"""Trees at equal node budgets: tau of every tree rule on trees of every kind, on toy models taken from a real pair.

A budget is a number of drafted texts that one target call verifies; where equal siblings make it random, their mean.
Every kind tries a few shapes in a short run, and the best of them is measured in a run of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from real.studies.trees.report import ORACLE
from specsim import guarantee, simulate
from specsim.simulation import Automaton, Trace, conditional_tau, ngram, recorded
from specsim.simulation.chain_of_blocks import grown_chains
from specsim.trees import Grown, chain, depths, eagle2_tree, heap_tree, k_ary, paths, sequoia_tree
from specsim.trees.likeliest import pruned
from specsim.types import Array, Model

if TYPE_CHECKING:
    from real.studies.drafts.measure import Rows

SMOOTHING = 0.1  # of the trigram models
RANKS = 8  # siblings whose acceptance by rank shapes Sequoia's trees, if there are as many tokens
SIBLINGS = 4  # most that other shapes draw different from each other
DEEPER = 0.6  # of the rejections by rank, for shapes of rules that keep more in the depth than one position says
PLACES = {2: 6, 3: 8}  # for so many distinct siblings expected: draws at most
PILOT = 5  # a shape is tried in this fraction of the blocks


class Models(NamedTuple):
    """A pair of toy models; texts start where they say, or evenly spaced in a recorded text of so many positions."""

    name: str
    target: Automaton
    draft: Automaton
    positions: int = 0

    def starts(self, sequences: int) -> list[int] | None:
        """Where each of so many texts starts."""
        return [i * self.positions // sequences for i in range(sequences)] if self.positions else None


class Shape(NamedTuple):
    """A tree as `conditional_tau` takes it, and how the table calls it."""

    name: str
    tree: Sequence[int]
    num_drafts: int = 1


class Kind(NamedTuple):
    """A line of the table: trees of a kind, and a rule that verifies them."""

    topology: str
    rule: str
    scheme: str
    step: str | None
    shapes: Callable[[int, Array], list[Shape]]  # of a budget, from acceptance by rank

    @property
    def name(self) -> str:
        """The rule, with the step rule that it runs."""
        return self.rule if self.step is None else f"{self.rule}, {self.step}"

    @property
    def lossless(self) -> bool:
        """By exact enumeration on small trees."""
        return guarantee(self.rule, scheme=self.scheme, family="tree", step=self.step).lossless


def trigrams(written: str, drafted: str, symbols: int) -> Models:
    """Character trigrams of what the target wrote and of what the draft wrote; rare characters are one symbol."""
    common = [c for c, _ in Counter(written + drafted).most_common(symbols - 1)]
    places = {c: i for i, c in enumerate(common)}
    ids = ([places.get(c, symbols - 1) for c in text] for text in (written, drafted))
    p, q = (ngram(text, order=2, vocab=symbols, smoothing=SMOOTHING) for text in ids)
    return Models(f"trigrams of {symbols} characters", p, q)


def recited(rows: Rows) -> Models:
    """Recorded rows, without the tokens that neither model gives a probability: places have new numbers in each row."""
    some = (rows.p > 0) | (rows.q > 0)
    order = np.argsort(~some, axis=-1, kind="stable")[:, : some.sum(axis=-1).max()]
    p, q = (np.take_along_axis(w, order, axis=-1) for w in (rows.p, rows.q))
    return Models(rows.name, *recorded(p, q), positions=len(p))


def branchings(prefixes: Sequence[tuple[int, ...]], budget: int) -> list[tuple[int, ...]]:
    """Numbers of children by depth: each beginning, then one child each for as long as the nodes last."""
    found = []
    for first in prefixes:
        width = int(np.prod(first))
        if (left := budget - int(np.cumprod(first).sum())) >= 0:
            found.append((*first, *[1] * (left // width)))
    return found


def _chains(budget: int, ranks: Array) -> list[Shape]:
    return [Shape(f"chain of {budget}", chain(budget))]


def _paths(budget: int, ranks: Array) -> list[Shape]:
    return [Shape(f"{k} paths of {n}", paths(k, n)) for k in (2, 3, 4) for n in {budget // k, budget // k + 1} if n > 1]


def _k_ary(prefixes: Sequence[tuple[int, ...]], most: float, budget: int, ranks: Array) -> list[Shape]:
    """Drafted nodes up to `most` times the budget: equal siblings are sent to the target once."""
    sizes = {budget, int(most * budget)}
    every = dict.fromkeys(b for size in sizes for b in branchings(prefixes, size))
    return [Shape(_said(b), k_ary(b)) for b in every]


def _distinct(budget: int, ranks: Array) -> list[Shape]:
    return [
        Shape(_said(b), k_ary([PLACES.get(k, k) for k in b]), b[0]) for b in branchings([(2,), (3,), (2, 2)], budget)
    ]


def _beams(budget: int, ranks: Array) -> list[Shape]:
    return [Shape(f"{w} wide, {budget // w} deep", (w, budget // w)) for w in (2, 4, 8) if budget >= 2 * w]


def _sequoia(budget: int, ranks: Array) -> list[Shape]:
    found = []
    for kappa in (1.0, DEEPER):
        less = kappa * ranks
        less[0] = 1 - kappa * (1 - ranks[0])
        parents = sequoia_tree(less, nodes=budget).parents
        name = f"{depths(parents).max(initial=0)} deep, {int((parents < 0).sum())} at the root"
        found.append(Shape(name + (f", kappa {kappa}" if kappa < 1 else ""), parents))
    return found


def _said(branching: tuple[int, ...]) -> str:
    ones = len(branching) - len(first := [k for k in branching if k > 1])
    return ",".join(map(str, first)) + (f",1^{ones}" if ones > 1 else ",1" * ones)


_RSD = partial(_k_ary, [(2,), (3,), (SIBLINGS,), (2, 2), (2, 2, 2)], 1.0)
_IID = partial(_k_ary, [(2,), (3,), (2, 2)], 1.4)
KINDS = (
    Kind("chain", "tokenwise", "iid", None, _chains),
    Kind("chain", "traversal", "iid", None, _chains),  # on one path it is block verification
    Kind("i.i.d. paths", "tokenwise", "paths", "recursive", _paths),
    Kind("i.i.d. paths", "tokenwise", "paths", "kseq", _paths),
    Kind("i.i.d. paths", "traversal", "paths", None, _paths),
    Kind("i.i.d. paths", "multipath_block", "paths", None, _paths),
    Kind("i.i.d. paths", "lifted", "paths", "optimal", _paths),
    Kind("k-ary, i.i.d.", "tokenwise", "iid", "recursive", _IID),
    Kind("k-ary, i.i.d.", "tokenwise", "iid", "kseq", _IID),
    Kind("k-ary, i.i.d.", "tokenwise", "iid", "optimal", _IID),
    Kind("k-ary, i.i.d.", "lifted", "iid", "optimal", _IID),
    Kind("k-ary, SpecHub's pairs", "tokenwise", "hub", "spechub", partial(_k_ary, [(2,), (2, 2)], 1.0)),
    Kind("RSD-C", "tokenwise", "without_replacement", "recursive_wor", _RSD),
    Kind("RSD-C", "traversal", "without_replacement", None, _RSD),
    Kind("RSD-S", "tokenwise", "beam", "recursive_wor", _beams),
    Kind("RSD-S", "traversal", "beam", None, _beams),
    Kind("Sequoia", "tokenwise", "without_replacement", "recursive_wor", _sequoia),
    Kind("Sequoia", "traversal", "without_replacement", None, _sequoia),
    Kind("Sequoia, greedy", "tokenwise", "greedy", "greedy_draft", _sequoia),
    Kind("Sequoia, greedy", "lifted", "greedy", "greedy_draft", _sequoia),
    Kind("k-ary, distinct", "lifted", "distinct", "optimal", _distinct),
)
GROWN: dict[
    str, tuple[Callable[..., Grown], str]
] = {  # deterministic trees: how one is grown from a model of the texts, and from which
    "EAGLE-2": (eagle2_tree, "draft"),
    "likeliest texts of the draft": (heap_tree, "draft"),
    ORACLE: (heap_tree, "target"),
}


def steps(budgets: Sequence[int]) -> int:
    """How many rows `measure` yields."""
    return len(budgets) * (len(KINDS) + 1 + len(GROWN))


def measure(
    models: Models, budgets: Sequence[int], *, blocks: int, sequences: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Rows of a record, one for each kind and budget: the first `blocks` blocks of each of `sequences` texts."""
    starts = models.starts(sequences)
    run = partial(conditional_tau, models.target, models.draft, sequences=sequences, starts=starts)
    ranks = dict[str, Array]()
    for kind in KINDS:
        verified = partial(run, rule=kind.rule, scheme=kind.scheme, step=kind.step)
        if kind.shapes is _sequoia and kind.scheme not in ranks:
            wide = k_ary((min(RANKS, models.target.rows.shape[-1]),))
            star = partial(run, rule="tokenwise", scheme=kind.scheme, parents=wide, seed=seed + 2)
            ranks[kind.scheme] = star(blocks=blocks * sequences).ends[1:]
        for budget in budgets:
            shapes = kind.shapes(budget, ranks.get(kind.scheme, np.zeros(0)))
            best = shapes[0]
            if len(shapes) > 1:
                some = []
                for shape in shapes:
                    tried = verified(
                        parents=shape.tree,
                        num_drafts=shape.num_drafts,
                        seed=seed + 1,
                        blocks=-(-blocks // PILOT) * sequences,
                    )
                    some.append(tried.tau if tried.nodes <= budget else 0)
                best = shapes[int(np.argmax(some))]
            found = verified(parents=best.tree, num_drafts=best.num_drafts, blocks=blocks * sequences, seed=seed)
            yield _row(kind.topology, kind.name, kind.lossless, budget, best.name, found.tau) | {
                "shapes_tried": [shape.name for shape in shapes],
                "interval": [found.low, found.high],
                "nodes": found.nodes,
                "bound": None if found.bound is None else list(found.bound),
            }
    lossless = guarantee("greedy_block").lossless
    for budget in budgets:
        trace = _greedy_block(models, budget, blocks, sequences, seed)
        yield _row("chain", "greedy_block", lossless, budget, f"chain of {budget}", trace.tau) | {
            "interval": list(trace.tau_interval())
        }
    lossless = guarantee("target_only", scheme="deterministic").lossless
    for name, (grow, model) in GROWN.items():
        chains = grown_chains(models.target, getattr(models, model), partial(_grown, grow, budgets))
        for budget, blocks_of in zip(budgets, chains, strict=True):
            tau = np.mean([blocks_of._replace(start=s).mean(blocks) for s in starts or [blocks_of.start]])
            yield _row(name, "target_only", lossless, budget, "", float(tau))


def _greedy_block(models: Models, gamma: int, blocks: int, sequences: int, seed: int) -> Trace:
    """What it changes in the blocks to come only `simulate` follows; at most 16 groups of texts that start together."""
    groups = min(16, sequences // 2)
    traces = []
    for i, start in enumerate(models.starts(groups) or [models.target.start] * groups):
        pair = (model._replace(start=start) for model in (models.target, models.draft))
        each = sequences // groups
        traces.append(
            simulate(*pair, rule="greedy_block", gamma=gamma, blocks=blocks * each, sequences=each, seed=seed + i)
        )
    return traces[0]._replace(kept=np.concatenate([trace.kept for trace in traces]))


def _grown(grow: Callable[..., Grown], budgets: Sequence[int], model: Model) -> list[Grown]:
    most = grow(model, nodes=max(budgets))
    return [pruned(most, budget) for budget in budgets]


def _row(topology: str, rule: str, lossless: bool, budget: int, shape: str, tau: float) -> dict[str, Any]:
    """An exact one: as many nodes as the budget has, and no interval."""
    return {
        "topology": topology, "rule": rule, "lossless": lossless, "budget": budget, "shape": shape,
        "shapes_tried": [shape], "tau": tau, "interval": None, "nodes": float(budget), "bound": None,
    }  # fmt: skip
