"""P(n >= i | text) for drafted trees: one entrance to every tree rule whose law given the text is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from specsim.base.check import integer
from specsim.lengths.lifted_texts import lifted_samples
from specsim.lengths.traversal_texts import fitted, text_survival_traversal
from specsim.lengths.tree_texts import TextSurvival, averaged, jackknife_error, left_out, text_survival_tree
from specsim.types import Array

# Schemes of siblings for which the law given the text is known, by rule.
KNOWN = {
    "tokenwise": ("iid", "without_replacement", "deterministic"),
    "traversal": ("without_replacement",),
    "lifted": ("iid", "without_replacement"),
}
SAMPLES = 16


@np.errstate(under="ignore")
def tree_posterior(
    p: Array,
    q: Array,
    y: Array,
    parents: Any,
    *,
    rule: str = "tokenwise",
    scheme: str = "iid",
    step: str | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> TextSurvival:
    r"""Probability that a tree rule keeps at least i drafts, given the text, wherever a block starts.

    .. math:: \Pr[n \ge i \mid \text{text}, t] = \sum_{\text{nodes of depth } i} E \Big[ a \prod_{\text{path}}
              \frac{\Pr[\text{the siblings before are drawn, and fail}] \, q(y)}{p(y)} \Big]

    From teacher-forced rows alone, without a tree being drafted: siblings that contain the text's token are summed over
    in Fractions, and sampled in floats, without bias. Hand the rows to `renewal`: the mean over texts of the target is
    the expected number of target calls. `hit_posterior` is its sibling for several drafts of one position,
    `tree_survival` for trees that have been drafted.

    Parameters
    ----------
    p, q : array_like, shape (T, V)
        Target and draft laws along the text.
    y : array_like of int, shape (T,)
        The text.
    parents : array_like of int, shape (n,)
        The tree (see `specsim.trees`); a block that starts at t drafts its first level in the place of y[t].
    rule : {"tokenwise", "traversal", "lifted"}
        The tree rule.
    scheme : {"iid", "without_replacement", "deterministic"}
        How siblings are drawn; "deterministic" for tokenwise alone, "iid" not for traversal.
    step : str, optional
        The step rule: of `lifted` any that verifies i.i.d. drafts, elsewhere the one that the scheme has.
    samples : int
        Draws of siblings for every position and node; at least 2 for an error.
    seed : int
        Of these draws.

    Returns
    -------
    TextSurvival
        survival (T, depth), Fractions where p and q are; error, its standard error: 0 where nothing was sampled.

    Raises
    ------
    ValueError
        A row is no law, y has another length or foreign tokens, the shape is no tree, or the law of the rule given a
        text is not known for that scheme or step rule.

    References
    ----------
    T39 in proofs/.

    Examples
    --------
    >>> p, q, text = [[.5, .5]] * 2, [[.9, .1]] * 2, [1, 1]
    >>> tree_posterior(p, q, text, [-1, 0], rule="lifted").survival.round(3).tolist()
    [[0.2, 0.04], [0.2, 0.0]]
    """
    if scheme not in KNOWN.get(rule, ()):
        known = "; ".join(f"{name}: {', '.join(schemes)}" for name, schemes in KNOWN.items())
        raise ValueError(
            f"no law given the text is known of rule {rule!r:.60} on scheme {scheme!r:.60}; known: {known}"
        )
    integer(samples, "samples", 1, 2**20)
    if rule == "tokenwise":
        return text_survival_tree(p, q, y, parents, scheme=scheme, step=step, samples=samples, seed=seed)
    if scheme == "without_replacement":
        if step not in (None, "recursive_wor"):
            raise ValueError(f"step must be 'recursive_wor' for drafts without replacement, got {step!r:.60}")
        return text_survival_traversal(p, q, y, parents, samples=samples, seed=seed)
    drawn = lifted_samples(p, q, y, parents, step=step or "optimal", samples=samples, seed=seed)
    return TextSurvival(fitted(averaged(drawn)), jackknife_error(fitted(left_out(drawn))))
