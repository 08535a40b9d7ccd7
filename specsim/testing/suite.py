"""Users' verifiers under pytest: a test for every property, from a decorator or a call."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from specsim.base import check, clock
from specsim.base.unknown import unknown
from specsim.conform import Report, Subject, judge
from specsim.conform.judgement import asked, validated
from specsim.conform.report import line, text
from specsim.testing import ragged
from specsim.testing.layouts import Layout
from specsim.testing.search import searched

F = TypeVar("F", bound=Callable[..., Any])


def lossless_suite(*, kind: str, budget: float = 60.0, examples: int = 20, **facts: Any) -> Callable[[F], F]:
    """Put a pytest test for every property of a verifier beside it; the verifier stays as it is.

    The tests of the marginal and the joint law, and of a drafter's contract, go on to random small
    laws, which hypothesis draws and shrinks: the same ones in every run. Without hypothesis they
    end at the standard cases.

    Parameters
    ----------
    kind : str
        "step", "chain", "tree", "decoder" or "drafter".
    budget : float
        Seconds for each test, and as many for its random laws.
    examples : int
        Random laws for each of those tests, at least 0.
    **facts
        Whatever else `specsim.conform.Subject` can be told: arrays, dtype, randomness, sizes, takes_q, ...

    Returns
    -------
    callable
        A decorator. The tests are called test_NAME_PROPERTY, in the module of the function.

    Raises
    ------
    ValueError
        The kind is unknown, the budget is not positive, or examples is negative.
    TypeError
        A fact is none of a subject.

    References
    ----------
    docs/api/conform.md says what each property is.

    Examples
    --------
    >>> @lossless_suite(kind="step", sizes=(1,))
    ... def mine(p, q, drafts, random):
    ...     return random.choice(len(p), p=p)
    >>> test_mine_marginal()
    """
    Subject("", kind, print, **facts)  # type: ignore[arg-type]
    check.scalar(budget, "budget", "(0, inf)")
    check.integer(examples, "examples", 0)
    names = asked(kind)

    def decorate(function: F) -> F:
        """Put the tests into the module of the function."""
        subject = Subject(function.__name__, kind, function, **facts)  # type: ignore[arg-type]
        for name in names:
            function.__globals__[f"test_{function.__name__}_{name}"] = _test(subject, name, budget, examples)
        return function

    return decorate


def _test(subject: Subject, name: str, budget: float, examples: int) -> Callable[[], None]:
    """Return the test of one property, with the name that pytest shows."""

    def test() -> None:
        """Judge the property, and search random laws if it holds."""
        assert_passes(judge(subject, budget=budget, properties=[name]))
        worse = searched(subject, name, examples=examples, budget=budget) if subject.lossless else None
        if worse is not None:
            raise _refused(Report(subject.name, (worse,)))

    test.__name__, test.__doc__ = f"test_{subject.name}_{name}", f"{subject.name}: {name}."
    return test


def assert_passes(report: Report) -> None:
    """Raise AssertionError with the counterexample if a report does not pass; skip where nothing could be decided."""
    # pytest shows the verdict below the line that asked for it.
    __tracebackhide__ = True
    if not report.verdicts or report.outcome in ("inconclusive", "not available", "measured"):
        raise unittest.SkipTest(text(report))
    if report.status:
        raise _refused(report)


def _refused(report: Report) -> AssertionError:
    """Return the error: the worst verdict in one line, and the whole report as a note that pytest prints below it."""
    error = AssertionError(line(next(verdict for verdict in report.verdicts if verdict.outcome == report.outcome)))
    error.add_note(text(report))
    return error


def assert_lossless_batch(
    verify: Callable[..., Any],
    *,
    layout: Layout = "padded",
    budget: float = 60.0,
    properties: Sequence[str] | None = None,
    **facts: Any,
) -> Report:
    """Raise AssertionError unless a batched verifier is lossless in every row of ragged batches.

    Each block stands among others of other lengths and other laws, some of which keep all their
    drafts, some a few and some none, and some of which have no drafts. A row is judged alone, two
    rows and 3, 5 and 8 equal rows together, and all rows of large batches; by scripted randomness
    if it can be followed, else by frequencies. Rows without drafts are judged, too: each emits one
    token of its target, in a call in which some other row has drafts. A verifier that raises on
    such rows is judged without them, and the verdicts say so; if 0 is among the `sizes` that are
    told, it has to take them.

    Parameters
    ----------
    verify : callable
        "padded": verify(p (N, G+1, V), q (N, G, V), drafts (N, G), counts (N,)), drafts past a block's count are -1
        and its rows there another law, the law of the bonus is row `count` of p. "flat": verify(p (T, V), q (T, V),
        drafts (T,), ends (N,), bonus (N,)), blocks one after the other, ends the cumulative counts, bonus drawn from
        the target already. "vllm": verify(drafts (T,), counts list, longest, ends (N,), q (T, V), p (T, V), bonus
        (N, 1)). Each returns the tokens emitted, (N, at most G+1), padded with -1; with `logprobs` a pair of them and
        of as many logarithms. With `warps` it takes a keyword `sampling_params`, with `masks` a `mask` of the shape
        of p.
    layout : str
        One of the three.
    budget : float
        Seconds; those in which the machine gave this process no processor do not count.
    properties : sequence of str, optional
        What is asked; all that concerns it if not given.
    **facts
        Whatever else `specsim.conform.Subject` can be told: dtype, sizes, takes_q, logits, warps, logprobs, ...;
        arrays="numpy" or "jax" (torch if not told); randomness="random", where a generator is the last argument (if
        not told, nothing is passed). With arrays="jax" the last argument is a key of `jax.random`, and in the layout
        "padded" all calls have the same shape.

    Returns
    -------
    Report
        That of a verifier that passed.

    Raises
    ------
    AssertionError
        It is convicted, or nothing could be decided; the counterexample is in its notes.
    ValueError
        The layout, the randomness or a property is unknown, or the budget is not positive.
    TypeError
        `verify` cannot be called, or a fact is none of a subject, or decided by the layout.

    References
    ----------
    vllm.v1.sample.rejection_sampler.rejection_sample has the layout "vllm".

    Examples
    --------
    >>> import torch
    >>> def late(p, q, drafts, ends, bonus):  # takes drafts as they are
    ...     out = torch.full((len(ends), 5), -1)
    ...     for n, (a, b) in enumerate(zip([0, *ends[:-1]], ends)):
    ...         out[n, : b - a + 1] = torch.cat([drafts[a:b], bonus[n : n + 1]])
    ...     return out
    >>> try:
    ...     assert_lossless_batch(late, layout="flat", budget=20)
    ... except AssertionError as error:
    ...     print("convicted" in str(error))
    True
    """
    # pytest shows the verdict below the line of the call.
    __tracebackhide__ = True
    if not callable(verify):
        raise TypeError(f"verify must be callable, got {check.shown(verify)}")
    if layout not in ragged.LAYOUTS:
        raise unknown("layout", layout, ragged.LAYOUTS)
    subject = ragged.subject(verify, layout, facts)
    seconds, _ = validated(subject, budget, properties)

    # Rows without drafts, which some engines never hand over, are tried once.
    begun, refused = clock.now(), ""
    if 0 not in subject.sizes:
        subject = ragged.subject(verify, layout, facts | {"sizes": (0, *subject.sizes)})
        refused = ragged.refusal(subject, seconds)
    if refused:
        subject = ragged.subject(verify, layout, facts)

    left = max(seconds - (clock.now() - begun), seconds * ragged.TRIAL)
    report = judge(subject, budget=left, properties=properties)
    if refused:
        report = without_empty_rows(report, refused)
    if report.status:
        raise _refused(report)
    return report


def without_empty_rows(report: Report, refused: str) -> Report:
    """Return a report whose acquittals say that rows without drafts were refused."""
    words = f"rows without drafts: refused by the verifier ({refused}), not judged"
    verdicts = []
    for verdict in report.verdicts:
        reach = "; ".join(filter(None, [verdict.reach, words]))
        verdicts.append(verdict._replace(reach=reach) if verdict.outcome == "lossless" else verdict)
    return report._replace(verdicts=tuple(verdicts))
