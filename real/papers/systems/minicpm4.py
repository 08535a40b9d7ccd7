"""MiniCPM4's drafting: EAGLE-2's trees from a draft whose head has the tokens that are frequent in a corpus."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from real.draft.restricted import trimmed
from real.papers.lab import trimmed_heads as on
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.text_lab import Tally, gain, tau
from real.papers.lab.texts import Texts, texts
from real.papers.lab.tree_lab import Reader
from real.papers.lab.writing import pair
from real.studies.intervals import Estimate
from specsim.trees import eagle2_tree
from specsim.trees.likeliest import Grown

NAME = "MiniCPM4"
PAPER = "arXiv:2506.07900"
CLAIM = "A head of a quarter of the tokens, by their frequency in a corpus (FR-Spec), makes EAGLE-2 1.12 times as fast"
AXES = {
    "drafting": "smaller model + restricted head: by frequency in a corpus, the end token forced in",
    "termination": "fixed",
    "management": "dynamic tree",
    "verification": "tree attention",
    "acceptance": "target_only",
    "order": "left to right",
    "carry": "nothing",
    "objective": "counts: of corpus tokens",
}
TEST = (
    "By expected tokens of EAGLE-2 trees of 16 nodes and 4 levels along test texts at T = 1, over the weights that a "
    "cycle reads: the head of the number of most frequent corpus tokens that is best on validation texts, of 128 to "
    "1,536 of the 2,048, gains over the full head with an interval above 0."
)
HEADLINE = "memory-bound speedup of EAGLE-2 trees gained by the best head of corpus tokens"
MODELS = ()

NODES, LEVELS, WIDTH = 16, 4, 4
# Blocks of a text, evenly spaced.
STARTS = 4


def run(lab: Lab) -> Record:
    """Trees with every head at the same starts; the head is chosen on validation texts."""
    # Heads, and trees with each of them.
    token_counts = on.counts(lab)
    all_heads = on.heads(token_counts, pair(), on.KEPT)
    heads = {head: ids for head, ids in all_heads.items() if head[0] in ("corpus", "full")}
    sizes = {head: on.weights_read(ids, pair()) for head, ids in heads.items()}
    starts = lab.texts(STARTS, 1)
    lab.said("trees of validation texts")
    tuned = tallies(texts(1.0).of("validation", lab.texts(32, 2)), heads, starts)
    lab.said("trees of test texts")
    judged = tallies(texts(1.0).of("test", lab.texts(64, 3)), heads, starts)

    # The best head on validation texts, and gains of all on test texts.
    full = next(head for head in heads if head[0] == "full")
    cost = {head: 1 + LEVELS * size for head, size in sizes.items()}
    best = max((h for h in heads if h != full), key=lambda h: tuned[h].tokens.sum() / tuned[h].blocks.sum() / cost[h])
    measured = {f"tokens a block, {head[0]} {head[1]}": tau(of_head) for head, of_head in judged.items()}
    for head in heads:
        if head != full:
            gained = gain(judged[head], judged[full])
            scaled = Estimate(*((1 + value) * cost[full] / cost[head] - 1 for value in gained))
            measured[f"memory-bound speedup gained by {head[1]} corpus tokens"] = scaled
    measured[HEADLINE] = measured[f"memory-bound speedup gained by {best[1]} corpus tokens"]
    exact = {f"weights of a draft step over the target's, {head[1]} tokens": size for head, size in sizes.items()}
    return Record({**exact, "tokens of the best head": float(best[1])}, measured, {})


def tallies(texts: Texts, heads: Mapping[on.Head, list[int]], starts: int) -> dict[on.Head, Tally]:
    """Expected tokens of a block at each start along the texts, and blocks, by prompt."""
    target, tokens = Reader(pair().target), {head: np.zeros(len(texts.tokens)) for head in heads}
    readers = {head: Reader(trimmed(pair().draft, ids)) for head, ids in heads.items()}
    for i, (prompt, text) in enumerate(zip(texts.prompts, texts.tokens.tolist(), strict=True)):
        for t in np.linspace(0, len(text) - 1, starts + 1).astype(int)[:-1].tolist():
            before = (*prompt, *text[:t])
            for head, reader in readers.items():
                grown = eagle2_tree(reader, top_k=WIDTH, depth=LEVELS, nodes=NODES, prefix=before)
                tokens[head][i] += expected(target, before, grown)
                reader.forget()
            target.forget()
    _, which = np.unique(texts.group, return_inverse=True)
    blocks = starts * np.bincount(which).astype(np.float64)
    return {head: Tally(np.bincount(which, weights=values), blocks) for head, values in tokens.items()}


def expected(target: Reader, before: tuple[int, ...], grown: Grown) -> float:
    """Expected tokens of a block under `target_only`: 1 and the target's probability of each path (T20)."""
    target.ahead(before, grown.tree)
    reach: list[float] = []
    paths: list[tuple[int, ...]] = []
    for parent, token in zip(grown.tree.parents.tolist(), grown.tree.tokens.tolist(), strict=True):
        path, so_far = (paths[parent], reach[parent]) if parent >= 0 else ((), 1.0)
        reach.append(so_far * float(target((*before, *path))[token]))
        paths.append((*path, token))
    return 1 + sum(reach)


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    gained = record.measured[HEADLINE]
    if gained.high < 0:
        return "contradicts"
    return "shows" if gained.low > 0 else "does not show"
