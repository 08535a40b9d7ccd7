"""A verifier of one's own under pytest: a test for every property, from a decorator or a call."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np

from specsim.base import check
from specsim.conform import Report, Subject, judge
from specsim.conform.calls import integers
from specsim.conform.judgement import asked
from specsim.conform.report import line, text
from specsim.testing.search import searched
from specsim.types import Array

F = TypeVar("F", bound=Callable[..., Any])
Layout = Literal["vllm", "flat", "padded"]


def lossless_suite(*, kind: str, budget: float = 60.0, examples: int = 20, **facts: Any) -> Callable[[F], F]:
    """Put a pytest test for every property of a verifier beside it; the verifier stays as it is.

    The tests of the marginal and the joint law, and of a drafter's contract, go on to random small laws, which
    hypothesis draws and shrinks: the same ones in every run. Without hypothesis they end at the standard cases.

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
        subject = Subject(function.__name__, kind, function, **facts)  # type: ignore[arg-type]
        for name in names:
            function.__globals__[f"test_{function.__name__}_{name}"] = _test(subject, name, budget, examples)
        return function

    return decorate


def _test(subject: Subject, name: str, budget: float, examples: int) -> Callable[[], None]:
    def test() -> None:
        held(judge(subject, budget=budget, properties=[name]))
        worse = searched(subject, name, examples=examples, budget=budget) if subject.lossless else None
        if worse is not None:
            raise _refused(Report(subject.name, (worse,)))

    test.__name__, test.__doc__ = f"test_{subject.name}_{name}", f"{subject.name}: {name}."
    return test


def held(report: Report) -> None:
    """AssertionError with the counterexample if a report does not pass; skipped where nothing could be decided."""
    if not report.verdicts or report.outcome in ("inconclusive", "not available"):
        raise unittest.SkipTest(text(report))
    if report.status:
        raise _refused(report)


def _refused(report: Report) -> AssertionError:
    """The worst verdict in one line, and the whole report as a note, which Python and pytest print below it."""
    error = AssertionError(line(next(verdict for verdict in report.verdicts if verdict.outcome == report.outcome)))
    error.add_note(text(report))
    return error


def assert_lossless_batch(
    verify: Callable[..., Any], *, layout: Layout = "padded", budget: float = 60.0, **facts: Any
) -> Report:
    """Raise AssertionError unless a batched torch verifier is lossless in the middle of a ragged batch.

    The block that is judged has a neighbour on either side, of other lengths, that keep all their drafts. The law of
    its row is found by scripted randomness if that can be followed, else by frequencies.

    Parameters
    ----------
    verify : callable
        "padded": verify(p (N, G+1, V), q (N, G, V), drafts (N, G), counts (N,)), rows past a block's count are zero and
        its drafts -1, the law of the bonus is row `count` of p. "flat": verify(p (T, V), q (T, V), drafts (T,), ends
        (N,), bonus (N,)), blocks one after the other, ends the cumulative counts, bonus drawn from the target already.
        "vllm": verify(drafts (T,), counts list, longest, ends (N,), q (T, V), p (T, V), bonus (N, 1)). Each returns the
        tokens emitted, (N, at most G+1), padded with -1.
    layout : str
        One of the three.
    budget : float
        Seconds.
    **facts
        Whatever else `specsim.conform.Subject` can be told: dtype, sizes, takes_q, logits, ...

    Returns
    -------
    Report
        That of a verifier that passed.

    Raises
    ------
    AssertionError
        It is convicted, or nothing could be decided; the counterexample is in its notes.
    ValueError
        The layout is unknown, or the budget is not positive.
    TypeError
        `verify` cannot be called, or a fact is none of a subject.

    References
    ----------
    vllm.v1.sample.rejection_sampler.rejection_sample has the layout "vllm".

    Examples
    --------
    >>> import torch
    >>> def late(p, q, drafts, ends, bonus):  # takes drafts as they are
    ...     out = torch.full((len(ends), 4), -1)
    ...     for n, (a, b) in enumerate(zip([0, *ends[:-1]], ends)):
    ...         out[n, : b - a + 1] = torch.cat([drafts[a:b], bonus[n : n + 1]])
    ...     return out
    >>> try:
    ...     assert_lossless_batch(late, layout="flat", budget=20)
    ... except AssertionError as error:
    ...     print("convicted" in str(error))
    True
    """
    if not callable(verify):
        raise TypeError(f"verify must be callable, got {check.shown(verify)}")
    if layout not in _CALLS:
        raise ValueError(f"layout {layout!r} is unknown; known: {', '.join(_CALLS)}")
    facts = {"arrays": "torch", "dtype": "float32", "returns": "tokens", "randomness": "random"} | facts

    def run(p: Any, q: Any, drafts: Any, random: Any) -> Any:
        blocks = [_neighbour(p, 1), (p, q, drafts), _neighbour(p, 2)]
        law = _plain(p[-1], bool(facts.get("logits")))
        bonus = [0, int(random.choice(len(law), p=law)), 0]
        return _CALLS[layout](verify, blocks, bonus)[1]

    report = judge(Subject(getattr(verify, "__name__", "verify"), "chain", run, **facts), budget=budget)
    if report.status:
        raise _refused(report)
    return report


def _plain(row: Any, logits: bool) -> Array:
    law = row.double().numpy()
    law = np.exp(law) if logits else law
    return law / law.sum()


def _neighbour(p: Any, count: int) -> tuple[Any, Any, Any]:
    """A block that keeps its drafts, token 0 each time: the target is certain, the draft is not."""
    import torch

    vocab = p.shape[-1]
    sure, spread = torch.zeros(count + 1, vocab, dtype=p.dtype), torch.full((count, vocab), 1 / vocab, dtype=p.dtype)
    if bool((p < 0).any()):  # logits
        sure, spread = sure - torch.inf, spread.log()
        sure[:, 0] = 0
    else:
        sure[:, 0] = 1
    return sure, spread, torch.zeros(count, dtype=torch.int64)


def _flat(blocks: list[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any, list[int], Any]:
    import torch

    counts = [len(drafts) for _, _, drafts in blocks]
    p, drafts = torch.cat([p[:-1] for p, _, _ in blocks]), torch.cat([drafts for _, _, drafts in blocks])
    q = None if blocks[1][1] is None else torch.cat([q for _, q, _ in blocks])
    return p, q, drafts, counts, integers(_TORCH, np.cumsum(counts))


def _call_flat(verify: Callable[..., Any], blocks: Any, bonus: list[int]) -> Any:
    p, q, drafts, _, ends = _flat(blocks)
    return verify(p, q, drafts, ends, integers(_TORCH, np.array(bonus)))


def _call_vllm(verify: Callable[..., Any], blocks: Any, bonus: list[int]) -> Any:
    p, q, drafts, counts, ends = _flat(blocks)
    return verify(drafts, counts, max(counts), ends, q, p, integers(_TORCH, np.array(bonus))[:, None])


def _call_padded(verify: Callable[..., Any], blocks: Any, bonus: list[int]) -> Any:
    import torch

    counts = [len(drafts) for _, _, drafts in blocks]
    longest, vocab, kind = max(counts), blocks[1][0].shape[-1], blocks[1][0].dtype
    p, q = (
        torch.zeros(len(blocks), longest + 1, vocab, dtype=kind),
        torch.zeros(len(blocks), longest, vocab, dtype=kind),
    )
    drafts = torch.full((len(blocks), longest), -1)
    for n, (one, other, ids) in enumerate(blocks):
        p[n, : len(one)], drafts[n, : len(ids)] = one, ids
        if other is not None:
            q[n, : len(other)] = other
    return verify(p, None if blocks[1][1] is None else q, drafts, integers(_TORCH, np.array(counts)))


_TORCH = Subject("", "chain", print, arrays="torch")
_CALLS: dict[str, Callable[..., Any]] = {"vllm": _call_vllm, "flat": _call_flat, "padded": _call_padded}
