"""eagle-llm: the verifier of its trees, whose candidates are drawn without replacement."""

from __future__ import annotations

from typing import Any

from specsim.conform.adapters._installed import module, note
from specsim.conform.subject import SamplingParams, Subject
from specsim.types import TokenTree

DISTRIBUTION = "eagle-llm"
VERSIONS = "==1.2.1"
KIND = "tree"
ENTRY = "eagle.model.utils.evaluate_posterior"
NEEDS = ("torch", "transformers")
LICENCE = "Apache-2.0"


def subjects() -> list[Subject]:
    """Return its verifier, under its own logits processor; the next token is drawn from the law that it returns."""
    caveat = note(DISTRIBUTION, VERSIONS)
    import torch

    utils = module("eagle.model.utils")

    def laws(q: Any, processor: Any) -> Any:
        """Return the laws of the draft, as its model has them."""
        return torch.softmax(processor(None, q), -1)

    def run(p: Any, q: Any, tree: TokenTree, *, sampling_params: SamplingParams) -> tuple[list[int], int]:
        """Verify a tree; return the accepted path and the next token."""
        processor = utils.prepare_logits_processor(
            sampling_params.temperature, 0.0, sampling_params.top_p, sampling_params.top_k
        )
        parents, tokens = [int(i) for i in tree.parents], [int(x) for x in tree.tokens]
        paths = _paths(parents)
        # Rows of every path: 0 is the root, -1 pads.
        rows = torch.tensor([[0, *(node + 1 for node in path)] for path in paths])
        rows[:, 1:][torch.tensor(paths) < 0] = -1
        # The token of the root is never read.
        candidates = torch.tensor([0, *tokens, -1])
        # The buffers of its draft model; greedy verification takes none.
        buffers: tuple[Any, ...] = (None,) * 5
        if processor is not None:
            draft = laws(q, processor)
            chances, op, place, before = _buffers(parents, tokens, draft)
            chosen = torch.tensor([1.0, *chances, 1.0])[rows]
            levels = [[0 if row < 1 else place[row - 1] for row in path] for path in rows.tolist()]
            siblings = [[[] if row < 1 else before[row - 1] for row in path] for path in rows.tolist()]
            buffers = (chosen, op, levels, candidates[None, :-1], siblings)
        # The path, and the law of the next token.
        best, num_accepted, after = utils.evaluate_posterior(p[rows], candidates[rows], processor, *buffers)
        token = torch.argmax(after) if processor is None else torch.multinomial(after, 1)
        return [node for node in paths[int(best)] if node >= 0][: int(num_accepted)], int(token)

    # The entry as subjects.
    tree = Subject(
        ENTRY,
        "tree",
        run,
        "torch",
        "float32",
        "global",
        logits=True,
        warps=True,
        scheme="without_replacement",
        dtypes=("float32", "bfloat16"),
        note=caveat,
    )
    return [tree, tree._replace(name=f"{ENTRY}, one path", shapes=((-1,), (-1, 0)))]


def _paths(parents: list[int]) -> list[list[int]]:
    """Return the nodes from the root to every leaf, padded with -1."""
    paths = []
    for leaf in (node for node in range(len(parents)) if node not in parents):
        path = [leaf]
        while parents[path[0]] >= 0:
            path.insert(0, parents[path[0]])
        paths.append(path)
    longest = max(map(len, paths))
    return [path + [-1] * (longest - len(path)) for path in sorted(paths)]


def _buffers(parents: list[int], tokens: list[int], draft: Any) -> tuple[list[float], list[Any], list[int], list[Any]]:
    """Return (chances, laws, places, siblings), the buffers that EAGLE's draft model makes of a tree.

    draft: the law after each row, (n+1, V); the root is row 0, node i is row i+1. Of each node:
    the probability of its draw without replacement, the place of its parent among the parents of
    its depth, and the rows of its earlier siblings. `laws` has an array (parents, V) for each depth.
    """
    import torch

    depth: list[int] = []
    chances: list[float] = []
    places: list[int] = []
    siblings: list[Any] = []
    # Nodes with children, by the depth of the children, in order.
    parents_by_depth: list[list[int]] = []
    for node, parent in enumerate(parents):
        # The place of the parent in its depth.
        depth.append(0 if parent < 0 else depth[parent] + 1)
        if depth[node] == len(parents_by_depth):
            parents_by_depth.append([])
        level = parents_by_depth[depth[node]]
        if parent not in level:
            level.append(parent)
        places.append(level.index(parent))

        # The probability of the draw: the parent's law, less the tokens of earlier siblings.
        earlier = [sibling for sibling in range(node) if parents[sibling] == parent]
        law = draft[parent + 1]
        mass_left = 1 - sum(float(law[tokens[sibling]]) for sibling in earlier)
        chances.append(min(float(law[tokens[node]]) / mass_left, 1.0) if mass_left > 0 else 0.0)
        siblings.append(torch.tensor([sibling + 1 for sibling in earlier]) if earlier else [])
    laws = [draft[[parent + 1 for parent in level]] for level in parents_by_depth]
    return chances, laws, places, siblings
