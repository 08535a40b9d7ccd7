"""Is a rule lossless? Computed from the rule's own exact law, never declared.

A step rule is summed over every tuple of drafts, in rationals, for every pair of laws on a grid; a chain rule over
every block of random context-dependent tables. One difference convicts, with the witness and its bias; none leaves
the theorem that the rule names to carry the rest.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

import numpy as np

from specsim import _check, _dist, discover
from specsim.chains import strong_law, target_law
from specsim.exact import enumerate_step
from specsim.types import Array
from specsim.verify import step_rule


class Guarantee(NamedTuple):
    """Verdict on a rule: lossless or not, the largest bias (TV) met, its witness, and how many cases were run."""

    lossless: bool
    bias: Fraction
    cases: int
    reason: str


def guarantee(rule: str, *, num_drafts: int = 1, sampling: str | None = None, temperature: float = 1.0) -> Guarantee:
    """Decide whether a rule keeps the target's law, by exact enumeration on small vocabularies.

    Parameters
    ----------
    rule : str
        Name of a step or chain rule (see `algorithms`).
    num_drafts : int
        Candidates K per position (step rules), at least 1; enumerated up to 3.
    sampling : str, optional
        How the drafts are drawn; by default as the rule asks.
    temperature : float
        0 restricts targets to one-hot laws, which is what greedy decoding makes of them.

    Returns
    -------
    Guarantee
        lossless; bias: the largest total variation distance met (0 when lossless); cases: how many pairs of laws
        were enumerated; reason: one sentence, with the witness if there is one.

    Raises
    ------
    ValueError
        The rule is unknown, does not verify K drafts, or expects another draft scheme.

    References
    ----------
    Strong losslessness as in Leviathan et al. 2023, arXiv:2211.17192, appendix A.1; here checked exactly.

    Examples
    --------
    >>> guarantee("recursive", num_drafts=2).lossless
    True
    >>> print(guarantee("greedy").bias)
    2/3
    >>> guarantee("greedy", temperature=0).lossless
    True
    """
    num_drafts = _check.integer(num_drafts, "num_drafts", 1)
    _check.scalar(temperature, "temperature", "[0, inf)")
    steps, chains = discover.names("step"), discover.names("chain")
    if rule not in steps + chains:
        raise ValueError(f"rule {rule!r} is unknown; step rules: {', '.join(steps)}; chain rules: {', '.join(chains)}")
    if sampling is not None:
        discover.find("draft", sampling)
    if rule in chains:
        if num_drafts != 1:
            raise ValueError(f"chain rule {rule!r} verifies one draft per position, got num_drafts={num_drafts}")
        return _chain_verdict(discover.find("chain", rule), temperature == 0)
    module = step_rule(rule, num_drafts)
    if sampling not in (None, module.DRAFTS) and not (module.DRAFTS == "single" and sampling == "iid"):
        raise ValueError(f"rule {rule!r} expects drafts drawn {module.DRAFTS!r}, not {sampling!r}: not lossless")
    return _step_verdict(module, min(num_drafts, 3), temperature == 0)


def require_lossless(rule: str, *, num_drafts: int = 1, temperature: float = 1.0) -> None:
    """ValueError with the witness if `guarantee` finds the rule lossy."""
    verdict = guarantee(rule, num_drafts=num_drafts, temperature=temperature)
    if not verdict.lossless:
        raise ValueError(f"rule {rule!r} is not lossless at temperature {temperature:g}: {verdict.reason}")


@lru_cache
def _step_verdict(rule: ModuleType, num_drafts: int, one_hot: bool) -> Guarantee:
    cases, worst, witness = 0, Fraction(0), ""
    for vocab in (2, 3):
        q = rational_laws(vocab, 3)
        p = np.array([w for w in q if max(w) == 1]) if one_hot else q
        p, q = (w.reshape(-1, vocab) for w in np.broadcast_arrays(p[:, None], q[None]))
        law, _ = enumerate_step(rule, p, q, num_drafts)
        bias = _dist.positive_part(p - law).sum(axis=-1)
        cases += len(bias)
        if bias.max() > worst:
            k = int(np.argmax(bias))
            worst, witness = bias[k], f"p = {_show(p[k])}, q = {_show(q[k])} gives {_show(law[k])}"
    return _verdict(rule, worst, cases, witness)


@lru_cache
def _chain_verdict(rule: ModuleType, one_hot: bool) -> Guarantee:
    rng, worst, witness = np.random.default_rng(0), Fraction(0), ""
    shapes = [(vocab, gamma) for vocab in (2, 3) for gamma in (1, 2) for _ in range(5)]
    for vocab, gamma in shapes:
        target, draft = (rational_table(rng, vocab, gamma, one_hot=h) for h in (one_hot, False))
        law = strong_law(rule, target, draft, gamma)[0]
        goal = target_law(target, gamma + 1)
        bias = sum((max(goal[k] - law.get(k, Fraction(0)), Fraction(0)) for k in goal), Fraction(0))
        if bias > worst:
            worst, witness = bias, f"a table with {vocab} tokens at gamma = {gamma}"
    return _verdict(rule, worst, len(shapes), witness)


def _verdict(rule: ModuleType, worst: Fraction, cases: int, witness: str) -> Guarantee:
    if worst:
        return Guarantee(False, worst, cases, f"{witness}, bias (TV) {worst}")
    return Guarantee(True, worst, cases, f"no difference in {cases} exact cases; in general by {rule.THEOREM}")


def rational_laws(vocab: int, denominator: int) -> Array:
    """Every law on `vocab` tokens whose entries are multiples of 1/denominator, as Fractions (n, vocab)."""
    counts = itertools.product(range(denominator + 1), repeat=vocab)
    rows = [[Fraction(c, denominator) for c in row] for row in counts if sum(row) == denominator]
    return np.array(rows, dtype=object)


def rational_table(
    rng: np.random.Generator, vocab: int, depth: int, *, one_hot: bool = False
) -> dict[tuple[int, ...], Array]:
    """A random law, zeros included, for every prefix of up to `depth` tokens."""
    table = {}
    for length in range(depth + 1):
        for prefix in itertools.product(range(vocab), repeat=length):
            weights = rng.integers(0, 5, vocab)
            weights[rng.integers(vocab)] += 1
            if one_hot:
                weights = (np.arange(vocab) == weights.argmax()).astype(int)
            table[prefix] = np.array([Fraction(int(w), int(weights.sum())) for w in weights], dtype=object)
    return table


def _show(row: Array) -> str:
    return "(" + ", ".join(str(v) for v in row) + ")"
