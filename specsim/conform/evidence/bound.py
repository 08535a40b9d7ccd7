"""Conviction by bound, from a log: more kept drafts than any verifier of one path can have, by bets.

For each block the log has p and q of the drafted tokens and the number kept. Whatever the verifier
is, the first i drafts are kept with probability at most sum_x min(P(x), Q(x)) over texts of i
tokens, the mean over drafted texts of min(1, product of p/q). So kept - sum_i min(1, product of the
first i ratios) has no positive mean, given all blocks before; wealth that is bet on it is a
non-negative supermartingale, and passes 1/delta with probability at most delta (Ville), at whatever
block it is looked at. So lines stand in order of time; a file that is not above the bound as a
whole convicts nobody, which makes convictions only rarer. A line that cannot be read loses its bet;
one whose p or q are none, which stand before anything is verified, is not bet on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from specsim.base import check
from specsim.base.reading import parsed_json
from specsim.conform.verdict import Counterexample, Verdict

# Shares of the wealth that are bet; each has a fifth of the wealth.
STAKES = np.array([0.01, 0.03, 0.1, 0.3, 0.9])


def judge_counts(lines: Iterable[str], name: str, *, false_alarm: float = 1e-6) -> Verdict:
    """Return the verdict on a log of lines {"p": [...], "q": [...], "kept": n}, in order of time.

    Entry i of p and q is the probability of the drafted token i. The verdict of a file in another
    order may differ.

    ValueError for a false-alarm rate outside (0, 1), and for a line that is none, unless the others
    convict: then it is named beside the conviction.

    Examples
    --------
    >>> lines = ['{"p": [0.2, 0.3], "q": [0.4, 0.6], "kept": 2}'] * 100
    >>> judge_counts(lines, "log").outcome
    'convicted'
    """
    delta = float(check.scalar(false_alarm, "false_alarm", "(0, 1)"))
    # Logarithms of the wealth by stake, sums over the blocks so far, and their number.
    wealth = np.zeros(len(STAKES))
    bound, accepted, blocks = 0.0, 0.0, 0
    bad = list[ValueError]()
    # (block, mean of accepted drafts, mean bound) where the wealth first passed 1 / delta.
    passed: tuple[int, float, float] | None = None
    # Bet on every block. A bad line loses its bet, unless it has no laws to bet on.
    for number, line in _numbered(lines, bad):
        try:
            most, count, drafts = _block(line, number)
        except ValueError as error:
            bad.append(error)
            wealth = wealth if isinstance(error, NoLaws) else wealth + np.log1p(-STAKES)
            continue
        blocks, bound, accepted = blocks + 1, bound + most, accepted + count
        wealth = wealth + np.log1p(STAKES * (count - most) / max(drafts, 1))
        if passed is None and float(np.logaddexp.reduce(wealth)) - math.log(len(STAKES)) >= -math.log(delta):
            passed = (blocks, accepted / blocks, bound / blocks)
    # Bets in an order other than that of time prove nothing: the whole file must exceed the bound.
    is_convicted = passed is not None and accepted > bound
    # Bad lines are an error, unless the others convict.
    if bad and not is_convicted:
        raise bad[0]
    if not blocks:
        raise ValueError(f"counts file {name} has no blocks")
    reach = f"{blocks} blocks, {accepted / blocks:.4g} drafts kept where {bound / blocks:.4g} are the most"
    if passed is None or not is_convicted:
        words = "no more drafts are kept than a lossless verifier can; that does not make it lossless"
        if passed is not None:
            place, observed, expected = passed
            words = (
                f"after block {place}, {observed:.4g} drafts were kept where {expected:.4g} are the most, but "
                "not over the whole file: are its lines in order of time?"
            )
        return Verdict(name, "bound", "inconclusive", "bound", reach, blocks, 0.0, None, words)
    # The block at which the wealth had passed 1 / delta.
    place, observed, expected = passed
    case = f"after block {place}"
    shown = Counterexample(case, None, None, None, "kept drafts", {"kept drafts": expected}, {"kept drafts": observed})
    words = (
        f"{case}, {observed:.4g} drafts kept where {expected:.4g} are the most, for any verifier of one path that is "
        f"lossless after every block; in all, {reach}{_left_out(bad)}"
    )
    return Verdict(name, "bound", "convicted", "bound", reach, blocks, observed - expected, shown, words)


class NoLaws(ValueError):
    """The p and q of a line are no probabilities of drafts."""


def _numbered(lines: Iterable[str], bad: list[ValueError]) -> Iterator[tuple[int, str]]:
    """Yield lines that are not empty with their numbers; append an error that ends the reading to `bad`."""
    numbered = enumerate(lines, 1)
    while True:
        try:
            number, line = next(numbered)
        except StopIteration:
            return
        except ValueError as error:
            bad.append(ValueError(f"{error}; what follows was not read"))
            return
        if line.strip():
            yield number, line


def _left_out(bad: list[ValueError]) -> str:
    """Return in words which lines were left out; nothing if none was."""
    if not bad:
        return ""
    if len(bad) == 1:
        return f"; 1 line was left out: {bad[0]}"
    return f"; {len(bad)} lines were left out, the first: {bad[0]}"


def _block(line: str, number: int) -> tuple[float, int, int]:
    """Return (largest possible mean of accepted drafts, accepted drafts, drafts) of a line."""
    try:
        block: Any = parsed_json(line, "the line")
        p, q, accepted = np.array(block["p"], dtype=float), np.array(block["q"], dtype=float), block["kept"]
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"line {number} is not {{'p': [...], 'q': [...], 'kept': n}}: {error}") from None
    if type(accepted) is not int:
        raise ValueError(f"line {number} has kept {accepted}; it is a whole number of drafts")
    if p.shape == q.shape and p.ndim == 1 and not ((p >= 0) & (p <= 1) & (q > 0) & (q <= 1)).all():
        raise NoLaws(f"line {number} has a probability outside [0, 1], or a draft with q = 0")
    if p.shape != q.shape or p.ndim != 1 or not 0 <= accepted <= len(p):
        shapes = f"p of shape {p.shape}, q of shape {q.shape} and kept {accepted}"
        raise ValueError(
            f"line {number} has {shapes}; p and q are lists, an entry a draft: the probability of the token drafted"
        )
    # Products of ratios as sums of logarithms: q may be 1e-320, and infinity times 0 would be no
    # number.
    with np.errstate(divide="ignore"):
        ratios = np.cumsum(np.log(p) - np.log(q))
    return float(np.exp(np.minimum(ratios, 0.0)).sum()), accepted, len(p)
