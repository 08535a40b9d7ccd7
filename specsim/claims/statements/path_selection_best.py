"""Nodes of a draft tree selected by marginals, and by what the target accepts along their path."""

from __future__ import annotations

from specsim.claims.statements._coins import DEPTH, NODES, best_by_hand, coin
from specsim.claims.statements._verdict import REFUTED, UNDER, Settled
from specsim.exact.one_pass import one_pass_draft
from specsim.trees.likeliest import heap_tree
from specsim.trees.limits import deterministic_tokens

SOURCE = "arXiv:2606.00487"
STATEMENT = (
    "Ranking the nodes of a draft tree by marginals does not fit verification, which is conditioned on the prefix: "
    "selected by acceptance given the path, as many nodes give more."
)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    targets = [coin(True), coin(False)]
    best = [best_by_hand(target) for target in targets]
    # Trees of the marginals, which both coins share, of each coin's conditionals, and of the other's.
    draft = one_pass_draft(targets[0], gamma=DEPTH)
    trees = [heap_tree(model, nodes=NODES, depth=DEPTH).tree for model in (draft, *targets)]
    by_marginals, by_path, by_other = (
        [deterministic_tokens(target, trees[i]) for target, i in zip(targets, chosen, strict=True)]
        for chosen in ((0, 0), (1, 2), (2, 1))
    )
    gains = by_path == best and min(by_marginals) < best[0]
    return Settled(
        UNDER if gains else REFUTED,
        "estimates that are the target's conditionals: a heap over these gives the best tree of any target. Estimates "
        "that follow from the marginals alone are the same for a coin that is copied and one that is turned, which "
        "have no best tree in common; one coin's conditionals gain the other nothing. How good the paper's estimates "
        "are is not decided here; it was read as its abstract.",
        {
            "nodes": str(NODES),
            "best, a copied and a turned coin": ", ".join(map(str, best)),
            "selected by marginals": ", ".join(map(str, by_marginals)),
            "by the target's conditionals": ", ".join(map(str, by_path)),
            "by the other coin's conditionals": ", ".join(map(str, by_other)),
        },
    )
