"""Trees at equal node budgets: tau of every tree rule on every kind of tree, on toy models.

The models are taken from a real pair. A budget is a number of drafted texts that one target call
verifies; where equal siblings make it random, their mean. Every kind tries a few shapes in a short
run, and the best of them is measured in a run of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from real.studies.trees.kinds import GROWN, KINDS, RANKS, sequoia
from specsim import guarantee, simulate
from specsim.simulation import Automaton, Trace, conditional_tau, ngram, recorded
from specsim.simulation.chain_of_blocks import grown_chains
from specsim.trees import Grown, k_ary
from specsim.trees.likeliest import pruned
from specsim.types import Array, Model

if TYPE_CHECKING:
    from real.studies.drafts.measure import Rows

# Additive smoothing of the trigram models, in counts.
SMOOTHING = 0.1
# A shape is tried in one of so many blocks.
PILOT = 5


class Models(NamedTuple):
    """A pair of toy models.

    Texts start at the models' own start, or in a recorded text of `positions` evenly spaced in it.
    """

    name: str
    target: Automaton
    draft: Automaton
    positions: int = 0

    def starts(self, sequences: int) -> list[int] | None:
        """Return the start of each text; None for the models' own start."""
        if not self.positions:
            return None
        return [i * self.positions // sequences for i in range(sequences)]


def trigrams(written: str, drafted: str, symbols: int) -> Models:
    """Return character trigrams of the target's texts and of the draft's.

    Rare characters are one symbol.
    """
    common = [c for c, _ in Counter(written + drafted).most_common(symbols - 1)]
    places = {c: i for i, c in enumerate(common)}
    ids = ([places.get(c, symbols - 1) for c in text] for text in (written, drafted))
    p, q = (ngram(text, order=2, vocab=symbols, smoothing=SMOOTHING) for text in ids)
    return Models(f"trigrams of {symbols} characters", p, q)


def recited(rows: Rows) -> Models:
    """Return recorded rows as models, without the tokens to which both give the probability 0.

    The tokens that are left are numbered anew in each row.
    """
    is_possible = (rows.p > 0) | (rows.q > 0)
    most = is_possible.sum(axis=-1).max()
    order = np.argsort(~is_possible, axis=-1, kind="stable")[:, :most]
    p, q = (np.take_along_axis(w, order, axis=-1) for w in (rows.p, rows.q))
    return Models(rows.name, *recorded(p, q), positions=len(p))


def steps(budgets: Sequence[int]) -> int:
    """Return how many rows `measure` yields."""
    return len(budgets) * (len(KINDS) + 1 + len(GROWN))


def measure(
    models: Models,
    budgets: Sequence[int],
    *,
    blocks: int,
    sequences: int,
    seed: int,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a record, one for each kind and budget.

    They are over the first `blocks` blocks of each of `sequences` texts.
    """
    starts = models.starts(sequences)
    run = partial(conditional_tau, models.target, models.draft, sequences=sequences, starts=starts)
    ranks = dict[str, Array]()
    for kind in KINDS:
        # Acceptance by rank, for Sequoia's trees, is that of a tree of one level.
        tau_of = partial(run, rule=kind.rule, scheme=kind.scheme, step=kind.step)
        if kind.shapes is sequoia and kind.scheme not in ranks:
            wide = k_ary((min(RANKS, models.target.rows.shape[-1]),))
            star = partial(run, rule="tokenwise", scheme=kind.scheme, parents=wide, seed=seed + 2)
            ranks[kind.scheme] = star(blocks=blocks * sequences).ends[1:]

        for budget in budgets:
            # The best of a few shapes, by a shorter run with another seed.
            shapes = kind.shapes(budget, ranks.get(kind.scheme, np.zeros(0)))
            best = shapes[0]
            if len(shapes) > 1:
                pilot = partial(tau_of, seed=seed + 1, blocks=-(-blocks // PILOT) * sequences)
                pilots = [pilot(parents=s.tree, num_drafts=s.num_drafts) for s in shapes]
                taus = [trial.tau if trial.nodes <= budget else 0 for trial in pilots]
                best = shapes[int(np.argmax(taus))]

            # Its tau, in a run of its own.
            result = tau_of(
                parents=best.tree,
                num_drafts=best.num_drafts,
                blocks=blocks * sequences,
                seed=seed,
            )
            row = _row(kind.topology, kind.name, kind.lossless, budget, best.name, result.tau)
            yield row | {
                "shapes_tried": [shape.name for shape in shapes],
                "interval": [result.low, result.high],
                "nodes": result.nodes,
                "bound": None if result.bound is None else list(result.bound),
            }

    # The rule that is simulated, on chains.
    lossless = guarantee("greedy_block").lossless
    for budget in budgets:
        trace = greedy_block_counts(models, budget, blocks, sequences, seed)
        yield _row("chain", "greedy_block", lossless, budget, f"chain of {budget}", trace.tau) | {
            "interval": list(trace.tau_interval())
        }

    # Deterministic trees, whose tau is exact.
    lossless = guarantee("target_only", scheme="deterministic").lossless
    for name, (grow, model) in GROWN.items():
        chains = grown_chains(models.target, getattr(models, model), partial(_grown, grow, budgets))
        for budget, blocks_of in zip(budgets, chains, strict=True):
            tau = np.mean([blocks_of._replace(start=s).mean(blocks) for s in starts or [blocks_of.start]])
            yield _row(name, "target_only", lossless, budget, "", float(tau))


def greedy_block_counts(models: Models, gamma: int, blocks: int, sequences: int, seed: int) -> Trace:
    """Simulate `greedy_block` on chains of gamma drafts; return the counts of all texts.

    `conditional_tau` cannot compute it: a block of this rule changes the target of later blocks,
    which only `simulate` follows.
    """
    # A simulation has one start for all its texts: 16 groups of texts with starts of their own, or
    # fewer, since a group has at least two texts.
    groups = min(16, sequences // 2)
    starts = models.starts(groups) or [models.target.start] * groups
    # Texts of each group, as even as can be.
    size, rest = divmod(sequences, groups)
    sizes = [size + 1] * rest + [size] * (groups - rest)
    traces = []
    for i, (start, texts) in enumerate(zip(starts, sizes, strict=True)):
        trace = simulate(
            models.target._replace(start=start),
            models.draft._replace(start=start),
            rule="greedy_block",
            gamma=gamma,
            blocks=blocks * texts,
            sequences=texts,
            seed=seed + i,
        )
        traces.append(trace)

    # Tau and its interval are made of the texts' counts of accepted drafts, `kept`.
    return traces[0]._replace(kept=np.concatenate([trace.kept for trace in traces]))


def _grown(grow: Callable[..., Grown], budgets: Sequence[int], model: Model) -> list[Grown]:
    """Return the tree of each budget: the likeliest nodes of the tree that is grown for the largest budget."""
    largest = grow(model, nodes=max(budgets))
    return [pruned(largest, budget) for budget in budgets]


def _row(
    topology: str,
    rule: str,
    lossless: bool,
    budget: int,
    shape: str,
    tau: float,
) -> dict[str, Any]:
    """Return a row with an exact tau: as many nodes as the budget has, and no interval."""
    return {
        "topology": topology, "rule": rule, "lossless": lossless, "budget": budget, "shape": shape,
        "shapes_tried": [shape], "tau": tau, "interval": None, "nodes": float(budget), "bound": None,
    }  # fmt: skip
