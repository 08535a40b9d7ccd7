"""Exact laws of tree rules on toy models, by summing over every tree that can be drawn. Fractions stay exact."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import arrays, check
from specsim.discover import Rule
from specsim.trees import enumerate_beams, enumerate_trees
from specsim.trees.drawn_law import count_trees, few_enough
from specsim.types import Array, Draws, Model, TokenTree
from specsim.verify.lookup import step_argument, tree_rule

Text = tuple[int, ...]
# A tree, the laws that the children of its nodes were drawn from, and its probability.
Drawn = tuple[TokenTree, Array, Any]


@np.errstate(under="ignore")
def expected_kept(
    target: Model | Array,
    draft: Model | Array,
    *,
    rule: Rule,
    scheme: str = "iid",
    step: Rule | None = None,
    parents: Any,
    draws: Callable[[Array], Draws] | None = None,
    params: Mapping[str, Any] | None = None,
    step_params: Mapping[str, Any] | None = None,
) -> Any:
    r"""Return the expected number of drafts that a tree rule accepts, E[n]; a block has E[n] + 1 tokens on average.

    .. math:: E[n] = \sum_T \Pr[T] \sum_{i} \text{depth}(i) \Pr[\text{node } i \text{ is kept} \mid T]

    Parameters
    ----------
    target, draft : Model or array_like, shape (V,)
        Functions from a prefix (a tuple of token ids) to the next-token law; or one law each, the same in every
        context. Laws of Fractions keep the answer exact.
    rule : str, path or module
        Name of a tree rule (see `algorithms`), the path of its file, or itself.
    scheme : str
        How siblings are drawn: one of the rule's CHILDREN.
    step : str, path or module, optional
        The step rule, for "tokenwise" and "lifted".
    parents : array_like of int, or (width, depth) for scheme "beam"
        The tree's parents (see `specsim.trees`).
    draws : callable, optional
        For scheme "distinct": a row of q -> `Draws`.
    params : mapping, optional
        The rule's own parameters by name.
    step_params : mapping, optional
        The parameters of the rule named by `step`, in the same way.

    Returns
    -------
    number
        Between 0 and the depth of the tree, for a block that starts with the empty prefix.

    Raises
    ------
    ValueError
        The rule is unknown or does not verify the scheme, the shape is no tree, a law is none, the vocabularies differ,
        or there are too many trees.

    References
    ----------
    Weng et al. 2025, arXiv:2505.12398, compare verifiers of trees by this number.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from specsim.trees import paths
    >>> p, q = [F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)]
    >>> tree = dict(parents=paths(2, 2), scheme="paths")
    >>> [str(expected_kept(p, q, rule=r, **tree)) for r in ("tokenwise", "traversal")]
    ['4/3', '115/81']
    """
    # The rule, and the models; two laws are models that give the same law in every context.
    module = discover.with_params(tree_rule(rule, scheme), params)
    laws = check.models_or_laws(target, draft)
    p, q = target, draft
    if laws:
        p_law, q_law = laws
        p, q = (lambda text: p_law), (lambda text: q_law)
    check.models(p, q)
    if laws and scheme != "beam":
        few_enough(count_trees(int((q_law > 0).sum()), parents, scheme))

    # The number of accepted drafts is the length of the text less its next token.
    options = step_argument(module, step, step_params)
    if draws is not None:
        options["draws"] = draws
    law = kept_law(module, p, drawn_trees(q, parents, scheme, draws), **options)
    accepted = sum(((len(text) - 1) * mass for text, mass in law.items()), 0 * next(iter(law.values())))
    return arrays.at_most(accepted, max(map(len, law)) - 1)


def drawn_trees(draft: Model, shape: Any, scheme: str, draws: Callable[[Array], Draws] | None = None) -> list[Drawn]:
    """Return every tree that can be drawn, each with its draft laws and its probability.

    `shape` is the tree's parents; for scheme "beam" (width, depth), since the parents of a beam
    depend on the draws.
    """
    if scheme == "beam":
        if np.shape(shape) != (2,):
            raise ValueError(f"the shape of scheme 'beam' is (width, depth), got {shape!r}")
        width, depth = shape
        return enumerate_beams(draft, width=width, depth=depth)
    return enumerate_trees(draft, shape, scheme=scheme, draws=draws)


def kept_law(rule: ModuleType, target: Model, trees: Iterable[Drawn], **params: Any) -> dict[Text, Any]:
    """Return the law of (accepted drafts..., next token)."""
    laws: dict[Text, Array] = {}

    def law_after(text: Text) -> Array:
        """Return the target's law after a text, checked once."""
        if text not in laws:
            laws[text] = check.law(target(text), f"target{text}")
            check.same_vocabulary(laws[text], laws[()], f"target{text}", "target()")
        return laws[text]

    accepted: dict[Text, Any] = {}
    for batch in _batches(trees):
        # Trees of one shape are prepared as one batch.
        rows = [texts(tree) for tree, _, _ in batch]
        tokens = np.stack([tree.tokens for tree, _, _ in batch])
        p = np.stack([np.stack([law_after(text) for text in row]) for row in rows])
        q = np.stack([drawn_from for _, drawn_from, _ in batch])
        first_tree, _, _ = batch[0]
        joint = rule.transition(rule.prepare(p, q, first_tree._replace(tokens=tokens), **params))

        # Entry (i, y) is the probability to stop at node i, 0 for the root, with the next token y.
        for (_, _, weight), row, law in zip(batch, rows, joint, strict=True):
            for i, y in zip(*np.nonzero(law), strict=True):
                text = (*row[i], int(y))
                accepted[text] = accepted.get(text, 0) + weight * law[i, y]
    return accepted


def continued_law(law: dict[Text, Any], target: Model, length: int) -> Iterator[tuple[Text, Any, Any]]:
    """Yield (text, mass, goal) for every text of that length.

    `mass` is the text's probability if the target continues what `law`, of `kept_law`, begins; `goal` is
    its probability under the target alone.
    """
    vocab = target(()).shape[-1]
    for text in itertools.product(range(vocab), repeat=length):
        chances = [target(text[:i])[y] for i, y in enumerate(text)]
        mass = sum(law.get(text[:i], 0) * math.prod(chances[i:]) for i in range(1, length + 1))
        yield text, mass, math.prod(chances)


def _batches(trees: Iterable[Drawn]) -> list[list[Drawn]]:
    """Return the trees in lists, one for each shape."""
    by_shape: dict[bytes, list[Drawn]] = {}
    for drawn in trees:
        tree, _, _ = drawn
        by_shape.setdefault(np.asarray(tree.parents).tobytes(), []).append(drawn)
    return list(by_shape.values())


def texts(tree: TokenTree) -> list[Text]:
    """Return the text of the root, which is (), and of every node; () where a node is absent."""
    paths: list[Text] = [()]
    for parent, token in zip(np.asarray(tree.parents).tolist(), tree.tokens.tolist(), strict=True):
        paths.append((*paths[parent + 1], token) if token >= 0 else ())
    return paths
