"""Target and draft of different tokenizers: acceptance by the tokens that both have."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.types import Array


class SharedTokens(NamedTuple):
    """Tokens that two vocabularies both have: their ids in the target's and in the draft's, shape (n,) each.

    Examples
    --------
    >>> shared = shared_tokens(["a", "b", "cd"], ["cd", "a", "e"])
    >>> shared.target.tolist(), shared.draft.tolist()
    ([0, 2], [1, 0])
    """

    target: Array
    draft: Array


def shared_tokens(target: Sequence[Any], draft: Sequence[Any]) -> SharedTokens:
    """The tokens that two vocabularies both have, by the text that they stand for.

    Parameters
    ----------
    target, draft : sequence
        The vocabularies in the order of their ids: strings or bytes. None stands for an id that is not used.

    Returns
    -------
    SharedTokens
        In the order of the target's ids.

    Raises
    ------
    ValueError
        A token that stands twice in one vocabulary, or no token in both.

    References
    ----------
    Timor et al. 2025, arXiv:2502.05202 (token-level intersection).

    Examples
    --------
    >>> shared_tokens("abc", "cxa").target.tolist()
    [0, 2]
    """
    # Places by token in both vocabularies; None stands for no token.
    places = []
    for name, tokens in (("target", target), ("draft", draft)):
        place_of_token: dict[Any, int] = {}
        for i, token in enumerate(tokens):
            if token is None:
                continue
            if token in place_of_token:
                raise ValueError(
                    f"{name}[{i}] is {token!r}, which is {name}[{place_of_token[token]}], too; expected it once"
                )
            place_of_token[token] = i
        places.append(place_of_token)
    both = [token for token in places[0] if token in places[1]]
    if not both:
        raise ValueError("the two vocabularies have no token in common: no draft can be accepted")
    return SharedTokens(
        *(np.array([place_of_token[token] for token in both], dtype=np.int64) for place_of_token in places)
    )


def translated_draft(q: Array, shared: SharedTokens, *, vocab: int) -> Array:
    r"""The draft's law over the target's vocabulary, restricted to the tokens that both have.

    .. math:: q'_{t(x)} = \frac{q_x}{q(I)}, \qquad x \in I

    Parameters
    ----------
    q : array_like, shape (..., V_q)
        Laws over the draft's own vocabulary.
    shared : SharedTokens
        The intersection I.
    vocab : int
        Tokens of the target's vocabulary.

    Returns
    -------
    array, shape (..., vocab)
        What a draft that is drawn again until it is shared, or masked before the softmax, is drawn from: the law that a
        lossless verifier must be told. Fractions stay exact.

    Raises
    ------
    ValueError
        A q that is no law, ids outside the vocabularies, or a row without mass on shared tokens.

    References
    ----------
    Timor et al. 2025, arXiv:2502.05202 (token-level intersection).

    Examples
    --------
    >>> import specsim
    >>> shared = specsim.shared_tokens("abc", "cxa")
    >>> q = specsim.translated_draft([0.25, 0.5, 0.25], shared, vocab=3)
    >>> q.tolist(), float(specsim.acceptance_rate([0.25, 0.5, 0.25], q))
    ([0.5, 0.0, 0.5], 0.5)
    """
    law = np.asarray(check.law(q, "q"))
    size = check.integer(vocab, "vocab", 1, limits.MAX_COUNT)
    check.record(shared, "shared", SharedTokens)
    to = check.tokens(shared.target, "shared.target", size)
    of = check.tokens(shared.draft, "shared.draft", law.shape[-1])
    mass = law[..., of].sum(axis=-1, keepdims=True)
    if (mass <= 0).any():
        row = np.argwhere(mass[..., 0] <= 0)[0].tolist()
        raise ValueError(f"q{row or ''} has no mass on the shared tokens: no draft can be drawn there")
    exact = law.dtype == object
    out = np.full((*law.shape[:-1], size), Fraction(0) if exact else 0.0, dtype=law.dtype)
    out[..., to] = law[..., of] / (mass * Fraction(1) if exact else mass)
    return out


def vocabulary_bound(p: Array, shared: SharedTokens) -> Array:
    r"""The largest acceptance of any draft that proposes shared tokens only: the target's mass on them.

    .. math:: \max_{\operatorname{supp} q \subseteq I} \sum_x \min(p_x, q_x) = p(I)

    The draft that has it is the target's own law, restricted. No lossless rule, and no number of drafts, passes it, as
    a token that is not shared is never drafted.

    Parameters
    ----------
    p : array_like, shape (..., V)
        Laws of the target.
    shared : SharedTokens
        The intersection I.

    Returns
    -------
    array, shape (...)
        The bound at each position; its running product along a text bounds the drafts kept. Fractions stay exact.

    Raises
    ------
    ValueError
        A p that is no law, or ids outside its vocabulary.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, theorem 3.5 (the sum of minima); Timor et al. 2025, arXiv:2502.05202.

    Examples
    --------
    >>> import specsim
    >>> float(specsim.vocabulary_bound([0.25, 0.5, 0.25], specsim.shared_tokens("abc", "cxa")))
    0.5
    """
    law = np.asarray(check.law(p, "p"))
    check.record(shared, "shared", SharedTokens)
    ids = check.tokens(shared.target, "shared.target", law.shape[-1])
    return law[..., ids].sum(axis=-1)
