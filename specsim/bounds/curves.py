"""Acceptance against the number of drafts: every rule and scheme on the same rows, with the optimum of each scheme."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from specsim import discover
from specsim.base import check, limits
from specsim.base.drawing import Line, draw_lines, label_lines, listed_ticks, new_axes
from specsim.base.results import result
from specsim.bounds.optimum import optimum
from specsim.discover import Rule
from specsim.draft import distinct
from specsim.types import Array, NoClosedForm
from specsim.verify.hits import MAX_ENUMERATED, accepted, sampled
from specsim.verify.lookup import takes

# Schemes whose optimum is known at any vocabulary.
SCHEMES = ("iid", "distinct", "without_replacement", "greedy")
# Most draws by which the scheme `distinct` looks for K distinct drafts.
DRAWS = 1024

Progress = Callable[[float, list["Point"]], None]


class Point(NamedTuple):
    """Mean acceptance over the rows: of a rule, or the optimum of a scheme (rule "").

    `error` is 0 where every row is exact; else the half-width of a 99 % interval (sampled drafts), or a bound on the
    error of the quadrature.
    """

    rule: str
    scheme: str
    num_drafts: int
    value: float
    error: float


@result("rules", "num_drafts", rows=lambda curves: curves.points)
@dataclass(frozen=True)
class AcceptanceCurves:
    """Points of all curves: rules first, then the optima. Indexing, `len` and loops work as with a tuple."""

    points: tuple[Point, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules."""
        return tuple(dict.fromkeys(point.rule for point in self.points if point.rule))

    @property
    def num_drafts(self) -> tuple[int, ...]:
        """Numbers of drafts, rising."""
        return tuple(sorted({point.num_drafts for point in self.points}))

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __getitem__(self, index: int) -> Point:
        return self.points[index]

    def plot(self, axes: Any = None) -> Any:
        """Draw acceptance against the number of drafts; return matplotlib's Axes (extra `plot`).

        Rules have the colour of the scheme that draws their drafts; the optimum of a scheme is dashed.
        """
        axes = new_axes(axes, "plot")
        lines = _lines(self.points)
        draw_lines(axes, lines)
        listed_ticks(axes, self.num_drafts)
        axes.set_xlabel("draft tokens at a position, K")
        axes.set_ylabel("acceptance")
        label_lines(axes, lines)
        return axes


def _lines(points: Sequence[Point]) -> list[Line]:
    """Return a line for each rule and optimum; curves that are equal at every K are one line."""
    # Names of equal curves of one scheme, by their points.
    colours = {scheme: f"C{i}" for i, scheme in enumerate(dict.fromkeys(point.scheme for point in points))}
    names: dict[tuple[str, tuple[tuple[int, float], ...]], list[str]] = {}
    errors: dict[tuple[str, tuple[tuple[int, float], ...]], list[float]] = {}
    for rule, scheme in dict.fromkeys((point.rule, point.scheme) for point in points):
        curve = [point for point in points if (point.rule, point.scheme) == (rule, scheme)]
        curve.sort(key=lambda point: point.num_drafts)
        key = scheme, tuple((point.num_drafts, round(point.value, 9)) for point in curve)
        names.setdefault(key, []).append(rule or "optimum")
        errors.setdefault(key, [point.error for point in curve])
    # One line for each, with the band of its error; equal curves share it.
    lines = []
    for key, same in names.items():
        scheme, places = key
        values = [value for _, value in places]
        lines.append(
            Line(
                f"{' = '.join(same)} ({scheme.replace('_', ' ')})",
                [num_drafts for num_drafts, _ in places],
                values,
                colours[scheme],
                "--" if "optimum" in same else "-",
                [value - error for value, error in zip(values, errors[key], strict=True)],
                [value + error for value, error in zip(values, errors[key], strict=True)],
            )
        )
    return lines


@np.errstate(under="ignore")
def acceptance_curves(
    p: Array,
    q: Array,
    *,
    num_drafts: Sequence[int] = (1, 2, 4, 8),
    rules: Sequence[Rule] | None = None,
    samples: int = 64,
    seed: int = 0,
    progress: Progress | None = None,
) -> AcceptanceCurves:
    r"""Mean acceptance of every lossless rule and the optimum of every scheme, on the same rows.

    .. math:: \frac1n \sum_{\text{rows}} \Pr[y \in \{x_1, \dots, x_K\}]

    Closed forms where there are any. Else the drafts are sampled, `samples` tuples a row, and the hit probability of
    each tuple is exact.

    Parameters
    ----------
    p, q : array_like, shape (n, V)
        Target and draft laws at n positions.
    num_drafts : sequence of int
        Candidates K per position; for "distinct", expected distinct tokens, of at most 1024 draws.
    rules : sequence of str, path or module, optional
        Step rules, one's own by the paths of their files; by default every lossless rule of `algorithms`.
    samples : int
        Tuples of drafts for each row, where a rule has no closed form.
    seed : int
        Of these tuples.
    progress : callable, optional
        progress(share done, points so far), after each point and each row whose drafts are sampled: at 150,000 tokens
        such a row takes seconds.

    Returns
    -------
    AcceptanceCurves
        Of each rule, scheme and K a point: rules first, in the order of `algorithms`, then the optima (rule "").

    Raises
    ------
    ValueError
        A row is not a law, the vocabularies differ, or num_drafts < 1.

    References
    ----------
    The papers of the rules, see `algorithms`; Hu et al. 2025, arXiv:2502.18779 (the optimum).

    Examples
    --------
    >>> curves = acceptance_curves([[.5, .3, .2]], [[.1, .3, .6]], num_drafts=[2])
    >>> {c.rule: round(c.value, 3) for c in curves if c.scheme == "iid"}["recursive"]
    0.64
    """
    # Validate.
    p, q = (np.atleast_2d(w) for w in check.pair(p, q))
    if p.ndim != 2:
        raise ValueError(f"p and q must be rows (n, V), got shape {p.shape}")
    if not len(p):
        raise ValueError("p and q have no row: there is no mean acceptance")
    if isinstance(num_drafts, int):
        raise TypeError(f"num_drafts must be a sequence of integers, got {num_drafts}")
    counts = [check.integer(k, "num_drafts", 1, limits.MAX_DRAFTS) for k in num_drafts]
    samples = check.integer(samples, "samples", 2)
    # Points of rules and of optima; a rule may take some numbers of drafts only.
    wanted = [
        (discover.name_of(rule), rule, scheme, k)
        for rule in _drawn(rules)
        for scheme in discover.facts(rule).schemes
        for k in counts
        if takes(rule, k)
    ]
    optima = [(scheme, k) for scheme in SCHEMES for k in counts]
    points: list[Point] = []

    def tell(rows: int) -> None:
        """Report the share of the work that is done."""
        if progress is not None:
            progress((len(points) + rows / len(p)) / (len(wanted) + len(optima)), points)

    # Compute them, and report progress after each.
    for name, rule, scheme, k in wanted:
        points.append(Point(name, scheme, k, *_accepted(rule, p, q, k, scheme, samples, seed, tell)))
        tell(0)
    for scheme, k in optima:
        count = distinct.draws(q, k, DRAWS) if scheme == "distinct" else k
        best = optimum(p, q, num_drafts=count, scheme=scheme)
        points.append(Point("", scheme, k, float(np.mean(best.value)), float(np.mean(best.error))))
        tell(0)
    return AcceptanceCurves(tuple(points))


def _drawn(rules: Sequence[Rule] | None) -> list[ModuleType]:
    """Return the rules that get a curve: those named, or by default all that are lossless.

    A lossy rule buys its acceptance with bias, which the curve does not show.
    """
    if rules is None:
        return [rule for rule in discover.rules("step").values() if not discover.facts(rule).bias]
    if isinstance(rules, (str, Path, ModuleType)) or not isinstance(rules, Sequence):
        raise TypeError(f"rules must be a sequence of rules, got {check.shown(rules)}: write [...]")
    return [discover.find("step", rule) for rule in rules]


def _accepted(
    rule: ModuleType,
    p: Array,
    q: Array,
    num_drafts: int,
    scheme: str,
    samples: int,
    seed: int,
    tell: Callable[[int], None],
) -> tuple[float, float]:
    """Return the mean acceptance over the rows, and the half-width of its 99 % interval.

    It is exact, with error 0, if the rule states its acceptance or its drafts can be enumerated;
    else drafts are sampled.
    """
    law = distinct.draws(q, num_drafts, DRAWS) if scheme == "distinct" else num_drafts
    is_stated = discover.facts(rule).acceptance
    try:
        # A warning says that a rule accepts less than a single draft: the curve shows it.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if is_stated or q.shape[-1] ** (num_drafts + 1) <= MAX_ENUMERATED:
                return float(np.mean(accepted(rule, p, q, law).value)), 0.0
    except NoClosedForm:
        # Rows can be sampled only if their number of drafts is fixed.
        if scheme == "distinct":
            raise
    estimate = sampled(rule, scheme, p, q, num_drafts, samples, seed, tell)
    return float(np.mean(estimate.value)), float(np.sqrt(np.sum(estimate.error**2)) / len(p))
