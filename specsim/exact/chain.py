"""Exact laws of chain rules on toy models, by summing over every drafted block. Fractions stay exact."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import arrays, check, limits
from specsim.base.arrays import normalize_or, positive_part
from specsim.discover import Rule
from specsim.types import Array, Model

# Prefix of token ids -> next-token law (V,).
Table = Mapping[tuple[int, ...], Array]
# Text -> probability.
Law = dict[tuple[int, ...], Array]

# Largest number of weights (context-free pairs), or of drafted blocks (models), that are
# enumerated.
MAX_STATES = 2**20
# Bits of the mantissa that are compared: products of the same factors in another order differ only
# beyond them.
BITS = 44


def target_law(table: Table, length: int) -> Law:
    """Return the law of the first `length` tokens under ancestral sampling."""
    vocab = table[()].shape[-1]
    return {
        text: math.prod([table[text[:i]][y] for i, y in enumerate(text)])
        for text in itertools.product(range(vocab), repeat=length)
    }


def blocks(rule: ModuleType, target: Table, draft: Table, gamma: int, prefix: tuple[int, ...] = ()) -> Law:
    """Return the law of (accepted drafts..., next token) of one block after `prefix`."""
    law: Law = {}
    for x in itertools.product(range(target[()].shape[-1]), repeat=gamma):
        weight, _, joint = _block(rule, target, draft, x, prefix)
        if not weight:
            continue
        for n, y in zip(*np.nonzero(joint), strict=True):
            text = (*x[:n], int(y))
            law[text] = law.get(text, 0) + weight * joint[n, y]
    return law


def _block(
    rule: ModuleType, target: Table, draft: Table, x: tuple[int, ...], prefix: tuple[int, ...] = ()
) -> tuple[Array, Any, Array]:
    """Return (probability of the drafts x, plan, joint law of number accepted and next token).

    The joint law is given x; it and the plan are None where the probability is 0.
    """
    vocab, gamma = target[()].shape[-1], len(x)
    q = np.array([draft[prefix + x[:i]] for i in range(gamma)]).reshape(gamma, vocab)
    weight = math.prod([q[i, t] for i, t in enumerate(x)])
    if not weight:
        return 0, None, None
    plan = rule.prepare(np.array([target[prefix + x[:i]] for i in range(gamma + 1)]), q)
    return weight, plan, rule.transition(plan, np.array(x, dtype=np.int64))


def strong_law(rule: ModuleType, target: Table, draft: Table, gamma: int) -> tuple[Law, Array]:
    """Return (joint law of one block continued to gamma + 1 tokens, expected number of accepted drafts).

    Equal to `target_law(target, gamma + 1)` exactly when the rule is lossless; one-token marginals
    are not enough. The continuation is the target's own, unless the rule says otherwise.
    """
    law: Law = {}
    expected_accepted = 0
    for x in itertools.product(range(target[()].shape[-1]), repeat=gamma):
        weight, plan, joint = _block(rule, target, draft, x)
        if not weight:
            continue
        drafts = np.array(x, dtype=np.int64)
        # The block ends with n accepted drafts and the token y; the text goes on after them.
        for n, y in zip(*np.nonzero(joint), strict=True):
            block_mass = weight * joint[n, y]
            expected_accepted += block_mass * int(n)
            factors = after_block(rule, plan, drafts, n, y)
            for text, mass in _continued(target, draft, (*x[:n], int(y)), factors, gamma + 1):
                law[text] = law.get(text, 0) + block_mass * mass
    return law, expected_accepted


def after_block(rule: ModuleType, plan: Any, drafts: Array, num_accepted: Array, token: Array) -> tuple[Array, Array]:
    """Return the factors (above, below): the next token comes from (above p - below q)+, normalised.

    For most rules they are (1, 0), which is p itself. Greedy block verification changes the target
    of the tokens after a block (T18).
    """
    if not discover.facts(rule).continuation:
        return 1, 0
    # The rule gives them with an axis of the vocabulary, of length 1.
    factors = rule.continuation(plan, drafts, np.asarray(num_accepted), np.asarray(token))
    return tuple(factor[..., 0] for factor in factors)


def _continued(target: Table, draft: Table, text: tuple[int, ...], factors: Any, length: int) -> Iterator[Any]:
    """Yield every continuation of a text to `length` = gamma + 1 tokens, with its probability.

    `factors` are those of `after_block` for the next token. Each token that follows multiplies
    `above` by its probability under the target, and `below` by that under the draft.
    """
    if len(text) == length:
        yield text, 1
        return

    # The law of the next token. A block drafts gamma tokens, so the last of gamma + 1 has no row q
    # and comes from the target.
    above, below = factors
    p = target[text]
    q = draft.get(text, 0 * p)
    is_last = len(text) == length - 1
    law = p if is_last or not below else normalize_or(positive_part(above * p - below * q), p)

    # Every token y that this law allows, and every text that goes on with y.
    for y in np.flatnonzero(law):
        next_factors = (above * p[y], below * q[y])
        for whole_text, mass in _continued(target, draft, (*text, int(y)), next_factors, length):
            yield whole_text, law[y] * mass


def expected_blocks(rule: ModuleType, target: Table, draft: Table, gamma: int, length: int) -> Array:
    """Return the expected number of target calls for `length` tokens, by recursion over the ends of blocks."""

    def remaining(prefix: tuple[int, ...]) -> Array:
        """Return the expected number of target calls after a prefix."""
        left = length - len(prefix)
        if left <= 0:
            return 0
        law = blocks(rule, target, draft, min(gamma, left - 1), prefix)
        return 1 + sum(weight * remaining(prefix + block) for block, weight in law.items())

    return remaining(())


@np.errstate(under="ignore")
def expected_tokens(target: Model | Array, draft: Model | Array, *, rule: Rule = "tokenwise", gamma: int) -> Any:
    r"""Return the expected tokens of a block, tau = E[n] + 1, the correction or bonus included.

    .. math:: E[n] = \sum_{i=1}^{\gamma} E_{x \sim q}[\min(1, w_i)], \quad w_i = \text{advance}(w_{i-1}, p_i/q_i(x_i))

    Tokenwise multiplies clipped ratios, w_i = prod min(1, p/q); block verification clips products,
    w_i = min(1, w_{i-1} p/q); greedy block verification does not clip, which gives the
    full-information bound sum_i 1 - TV(P_i, Q_i) that no verifier beats. It pays with the blocks
    after it, whose target it changes: this is its first block, and along a text it can keep less
    than block verification (`specsim.simulate` shows it).

    Parameters
    ----------
    target, draft : Model or array_like, shape (V,)
        Functions from a prefix (a tuple of token ids) to the next-token law; or one law each, the same in every
        context, for any gamma. Laws of Fractions keep the answer exact.
    rule : str, path or module
        Name of a chain rule (see `algorithms`), the path of its file, or itself.
    gamma : int
        Drafted tokens per block, at least 0.

    Returns
    -------
    number
        In [1, gamma+1], for a block that starts with the empty prefix.

    Raises
    ------
    ValueError
        A law is none (names the prefix), the vocabularies differ, the rule is unknown, or there are too many drafted
        blocks to enumerate (says how many).

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192 (tokenwise); Sun et al. 2025, arXiv:2403.10444 (block).

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)]
    >>> [str(expected_tokens(p, q, gamma=2, rule=r)) for r in ("tokenwise", "block", "greedy_block")]
    ['19/9', '20/9', '7/3']
    """
    gamma = check.integer(gamma, "gamma", 0, limits.MAX_SUMMED)
    module = discover.find("chain", rule)
    if not discover.facts(module).advance:
        raise ValueError(
            f"rule {discover.name_of(module)!r} states no weights of drafts (advance), from which tau is computed; "
            "use specsim.block_chain"
        )
    laws = check.models_or_laws(target, draft)
    if laws is None:
        return arrays.at_most(_tau_of_models(module, target, draft, gamma), gamma + 1)
    p, q = map(np.asarray, laws)
    return arrays.at_most(_tau_of_laws(module, p, q, gamma), gamma + 1)


def _tau_of_laws(module: Any, p: Array, q: Array, gamma: int) -> Any:
    """Return tau of laws that do not depend on the context.

    The drafts matter through the weight w_i of `expected_tokens` alone. Its law is a table of
    weights and their masses, in which equal weights are merged.
    """
    # Ratios p/q of tokens that can be drafted, and the probability of each.
    is_drafted = q > 0
    p, q = p[is_drafted], q[is_drafted]
    ratio, ratio_index = np.unique(arrays.quotient(p, q), return_inverse=True)
    chance = np.zeros_like(q, shape=len(ratio))
    np.add.at(chance, ratio_index, q)
    # One draft after the other: E[n] grows by E[min(1, w_i)].
    weight, mass, tau = np.ones_like(ratio[:1]), np.ones_like(ratio[:1]), 1
    for i in range(gamma):
        if len(weight) * len(ratio) > MAX_STATES:
            raise ValueError(
                f"draft {i + 1} of gamma={gamma} meets {len(weight)} weights times {len(ratio)} ratios, more than "
                f"{MAX_STATES}; use a smaller vocabulary or gamma, or specsim.simulate"
            )
        advanced = module.advance(weight[:, None], ratio[None, :])
        weight, mass = _merged(advanced.ravel(), (mass[:, None] * chance[None, :]).ravel())
        tau = tau + (mass * np.where(weight < 1, weight, 1)).sum()
    return tau


def _merged(weight: Array, mass: Array) -> tuple[Array, Array]:
    """Return the distinct weights, ascending, and the mass of each.

    Floats that agree to BITS bits count as equal; their mean replaces them, which keeps E[w].
    """
    rounded = weight if weight.dtype == object else _rounded(weight)
    keys, key_index = np.unique(rounded, return_inverse=True)
    # For each key the mass, and the sum of mass times weight, whose quotient is the mean weight.
    total, moment = np.zeros_like(mass, shape=len(keys)), np.zeros_like(mass, shape=len(keys))
    np.add.at(total, key_index, mass)
    np.add.at(moment, key_index, mass * weight)
    is_possible = total > 0
    return moment[is_possible] / total[is_possible], total[is_possible]


def _rounded(w: Array) -> Array:
    """Return floats rounded to BITS bits of their mantissas."""
    mantissa, exponent = np.frexp(w)
    return np.ldexp(np.round(np.ldexp(mantissa, BITS)), exponent - BITS)


def _tau_of_models(module: Any, target: Model, draft: Model, gamma: int) -> Any:
    """Return tau of models, by enumeration of every drafted block.

    Given the drafts, the first i are all accepted with probability min(1, w_i) (see `expected_tokens`).
    """
    # rows(prefix) gives the laws of target and draft; the number of blocks is bounded.
    rows = check.models(target, draft)
    vocab = rows(())[0].shape[-1]
    if vocab**gamma > MAX_STATES:
        raise ValueError(
            f"{vocab}^{gamma} drafted blocks are too many to enumerate (more than {MAX_STATES}); use a smaller "
            "vocabulary or gamma, or specsim.simulate"
        )

    def accepted_after(prefix: tuple[int, ...], weight: Any) -> Any:
        """Return the expected number of accepted drafts beyond a drafted prefix, whose w_i is `weight`.

        The prefix may itself be rejected: the weights of later drafts count that, too.
        """
        if len(prefix) == gamma:
            return 0
        p, q = rows(prefix)
        # The next draft, for each token that can be drafted: its acceptance, and that of later
        # drafts.
        drafted = np.flatnonzero(np.asarray(q > 0))
        weights = module.advance(weight, arrays.quotient(p[drafted], q[drafted]))
        acceptance = np.where(weights < 1, weights, 1)
        pairs = zip(drafted, weights, strict=True)
        accepted_later = np.array([accepted_after((*prefix, int(token)), w) for token, w in pairs])
        return (q[drafted] * (acceptance + accepted_later)).sum()

    return 1 + accepted_after((), 1)
