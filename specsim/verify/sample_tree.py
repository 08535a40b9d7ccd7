"""The public sampler of token trees, and the look-up of a tree rule by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from array_api_compat import device, is_array_api_obj, is_numpy_array

from specsim import discover
from specsim.base import check
from specsim.base.arrays import array_namespace, at
from specsim.discover import Rule
from specsim.trees import validity
from specsim.types import Array, Draws, TokenTree, TreeResult
from specsim.verify.lookup import step_argument, tree_rule


@np.errstate(under="ignore")
def verify_tree(
    p: Array,
    q: Array,
    tree: TokenTree,
    u: Array,
    *,
    rule: Rule = "tokenwise",
    step: Rule | None = None,
    draws: Callable[[Array], Draws] | None = None,
    params: Mapping[str, Any] | None = None,
    step_params: Mapping[str, Any] | None = None,
) -> TreeResult:
    """Run a tree rule: a tree of drafted tokens in, the kept path and one more token out.

    Parameters
    ----------
    p : array_like, shape (..., n+1, V)
        Target laws after the root and after each of the n nodes; any law where a row of the batch has no such node.
    q : array_like, shape (..., n+1, V)
        The laws that the nodes' children were drawn from; any law after leaves.
    tree : TokenTree
        Parents and depths (n,), tokens (..., n), scheme; see `specsim.trees`.
    u : array, shape (..., rule.uniforms(tree)), in [0, 1)
        Uniforms, with the broadcast leading axes of p, q and the tokens.
    rule : str, path or module
        Name of a tree rule (see `algorithms`), the path of its file, or itself.
    step : str, path or module, optional
        For "tokenwise" and "lifted": the step rule, if not the one that its STEPS has for the scheme.
    draws : callable, optional
        For a tree of scheme "distinct" under "lifted": what `draw_tree` was given, a row of q -> `Draws`.
    params : mapping, optional
        The rule's own parameters by name, as {"epsilon": 0.2}; those that are not named keep their defaults.
    step_params : mapping, optional
        The parameters of the rule named by `step`, in the same way.

    Returns
    -------
    TreeResult
        node, shape (...): 0 if no draft is kept, i+1 if those up to node i are; num_accepted, shape (...): how many;
        token, shape (...): what follows them.

    Raises
    ------
    ValueError
        A row is not a law, shapes do not fit together, the tree is none or not of the rule's schemes, a token lies
        outside the vocabulary or has q = 0 where it is said to be drawn, or a rule is unknown.

    References
    ----------
    The paper of the rule, see `algorithms`.

    Examples
    --------
    >>> from specsim import trees
    >>> tree = trees.draw_tree(lambda text: np.array([.9, .1]), trees.k_ary((2, 1)), np.array([.5, .5, .95, .5])).tree
    >>> tree.tokens.tolist()
    [0, 0, 1, 0]
    >>> result = verify_tree([[.5, .5]] * 5, [[.9, .1]] * 5, tree, [.3, .5, 0., .8, 0., .2])
    >>> int(result.node), int(result.num_accepted), int(result.token)  # 0.3 * 0.9 < 0.5, 0.8 * 0.1 < 0.5: both kept
    (3, 2, 0)
    """
    module = discover.with_params(tree_rule(rule, validity.token_tree(tree).scheme), params)
    step_option = step_argument(module, step, step_params)
    if (tree.scheme == "distinct") != (draws is not None):
        raise ValueError(f"a tree of scheme {tree.scheme!r} {'takes no' if draws else 'needs'} draws")
    draws_option: dict[str, Any] = {} if draws is None else {"draws": draws}
    # Check the tree, and that p and q have a row for each node.
    p, q = check.laws(p, q)
    nodes, vocab = len(validity.check(tree, p.shape[-1]).parents), p.shape[-1]
    for name, w in (("p", p), ("q", q)):
        if w.ndim < 2 or w.shape[-2] != nodes + 1:
            raise ValueError(
                f"{name} must have {nodes + 1} rows, after the root and {nodes} nodes; its shape is {tuple(w.shape)}"
            )
    # NumPy rows follow tokens or uniforms that are JAX or torch arrays.
    for other in (tree.tokens, u):
        if is_numpy_array(p) and p.dtype != object and is_array_api_obj(other):
            p, q = check.like(p, other), check.like(q, other)
    xp, x = array_namespace(p), check.tokens(tree.tokens, "tree.tokens", vocab, p, low=-1)
    # Broadcast everything to one batch.
    batch = check.leading("p, q and tree.tokens", p.shape[:-2], q.shape[:-2], x.shape[:-1])
    p, q = (xp.broadcast_to(w, (*batch, nodes + 1, vocab)) for w in (p, q))
    tree = tree._replace(tokens=xp.broadcast_to(x, (*batch, nodes)))
    if tree.scheme != "deterministic":
        _can_be_drawn(q, tree)
    u = check.uniforms(u, module.uniforms(tree, **step_option), batch, p)
    node, token = module.verify(module.prepare(p, q, tree, **step_option, **draws_option), u)
    depth = xp.asarray([0, *np.asarray(tree.depth).tolist()], device=device(x))
    return TreeResult(node, depth[node], token)


def _can_be_drawn(q: Array, tree: TokenTree) -> None:
    """ValueError for a node that the row of q at its parent excludes."""
    x, parents = tree.tokens, np.asarray(tree.parents)
    if not (check.concrete(x) and check.concrete(q) and len(parents)):
        return
    xp = array_namespace(q)
    absent = (x >= 0) & ~(at(q[..., parents + 1, :], xp.where(x < 0, 0, x)) > 0)
    if bool(xp.any(absent)):
        where, entry = check.first_bad(x, absent)
        raise ValueError(
            f"tree.tokens{where} is token {entry}, which q at its parent lacks: it cannot have been drawn "
            f"({tree.scheme!r})"
        )
