"""Errors of a third or fourth candidate, sibling or draft, which meets a residual of several tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from helpers.residuals import drawn, rest

from specsim.conform import Subject, judge, judgement
from specsim.conform.properties import _laws
from specsim.conform.standard_cases import standard
from specsim.types import Array, TokenTree

# How a candidate of one rank is treated otherwise than the others.
ERRORS = ("kept if any is left", "kept twice as often", "left whole", "left even")
Scheme = pytest.mark.parametrize("scheme", ["iid", "without_replacement"])


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shrunk, or compared with the museum."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


def verified(
    p: Array, q: Array, candidates: Iterable[int], random: Any, *, scheme: str, error: str, at: int
) -> tuple[int, int]:
    """(Rank of the candidate that is kept, or -1; the token), by recursive rejection with an error at one rank."""
    left, q = p, q.copy()
    for rank, x in enumerate(candidates):
        if scheme != "iid" and q.sum() > 0:
            q = q / q.sum()
        here = error if rank == at else ""
        if here == "kept if any is left" and left[x] > 0:
            return rank, int(x)
        if random.random() * q[x] < left[x] * (2 if here == "kept twice as often" else 1):
            return rank, int(x)
        if here != "left whole":
            left = rest(left, q)
        if here == "left even":
            left = (left > 0) / (left > 0).sum()
        if scheme != "iid":
            q[x] = 0
    return -1, drawn(random, left)


def step(**how: Any) -> Callable[..., int]:
    return lambda p, q, drafts, random: verified(p, q, drafts, random, **how)[1]


def tree(**how: Any) -> Callable[..., Any]:
    def run(p: Array, q: Array, drafted: TokenTree, random: Any) -> Any:
        path: list[int] = []
        node = -1
        while True:
            children = [i for i, parent in enumerate(drafted.parents) if parent == node]
            tokens = [int(drafted.tokens[i]) for i in children]
            rank, token = verified(p[node + 1], q[node + 1], tokens, random, **how)
            if rank < 0:
                return path, token
            node = children[rank]
            path.append(node)

    return run


@Scheme
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("at", [2, 3])
def test_a_late_candidate_is_tested(scheme: str, error: str, at: int) -> None:
    """Three and four candidates, each of which is the only one that is judged: all were called lossless."""
    run = step(scheme=scheme, error=error, at=at)
    found = judge(Subject("late", "step", run, scheme=scheme, sizes=(at + 1,)), properties=["marginal"])
    assert (found.outcome, found.verdicts[0].evidence) == ("convicted", "scripted")


@pytest.mark.parametrize(
    ("scheme", "shape"),
    [
        ("iid", (-1, -1, -1, 0)),
        ("without_replacement", (-1, 0, 0, 0)),
        ("without_replacement", (-1, -1, 1, 1, 1)),
        ("iid", (-1, -1, -1, -1)),
    ],
)
@pytest.mark.parametrize("error", ERRORS)
def test_a_late_sibling_is_tested(scheme: str, shape: tuple[int, ...], error: str) -> None:
    at = max(shape.count(parent) for parent in shape) - 1
    run = tree(scheme=scheme, error=error, at=at)
    found = judge(Subject("late", "tree", run, scheme=scheme, shapes=(shape,)), properties=["joint"])
    assert (found.outcome, found.verdicts[0].evidence) == ("convicted", "scripted")


@Scheme
def test_what_tests_them_all_alike_is_lossless(scheme: str) -> None:
    how = {"scheme": scheme, "error": "", "at": 0}
    subjects = [
        Subject("step", "step", step(**how), scheme=scheme),
        Subject("tree", "tree", tree(**how), scheme=scheme),
    ]
    for subject in subjects:
        found = judge(subject, properties=["marginal"])
        assert (found.outcome, found.verdicts[0].evidence) == ("lossless", "scripted")
        assert ": late" not in found.verdicts[0].reach
        assert "V=5, 3 drafts" in found.verdicts[0].reach or "V=5, tree [-1, -1, -1, 0]" in found.verdicts[0].reach


@pytest.mark.parametrize("kind", ["chain", "decoder"])
@pytest.mark.parametrize("at", range(5))
def test_four_drafts_meet_a_residual_of_two_tokens(kind: Any, at: int) -> None:
    """One of four drafts is corrected by the likeliest token that is left: of two tokens only one is left.

    No draft is the fifth, so that all is right there.
    """

    def run(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        for i, x in enumerate(drafts):
            if random.random() * q[i, x] >= p[i, x]:
                left = rest(p[i], q[i])
                return i, int(left.argmax()) if (i, len(drafts)) == (at, 4) else drawn(random, left)
        return len(drafts), drawn(random, p[-1])

    def block(target: Any, draft: Any, prompt: Any, n: int, sampling_params: Any, random: Any) -> Any:
        text = list[int]()
        for _ in range(n - 1):
            text.append(drawn(random, draft((*prompt, *text))))
        p = np.stack([target((*prompt, *text[:i])) for i in range(n)])
        q = np.stack([draft((*prompt, *text[:i])) for i in range(n - 1)])
        kept, token = run(p, q, np.array(text), random)
        return [*text[:kept], token]

    runs: dict[str, Any] = {"chain": run, "decoder": block}
    subject = Subject("late", kind, runs[kind], block=kind == "decoder")
    assert judge(subject, properties=["joint"]).outcome == ("convicted" if at < 4 else "lossless")


def test_cases_that_no_subject_could_draw_are_left_out() -> None:
    """Trees of too many nodes; certain drafts, of which nothing is left."""
    wide = (-1, -1, -1, *(0, 1, 2) * 3)
    for facts in ({"shapes": (wide,)}, {"takes_q": False}, {"shapes": ((-1, 0, 1, 2, 3, 4, 5, 6),)}):
        assert not [case for case in standard(Subject("it", "tree", print, **facts)) if "late" in case.words]


EDGES: dict[str, Callable[[Array, Array, Array], int | None]] = {
    "certain": lambda p, q, drafts: int(drafts[0]) if p.max() == 1 else None,
    "equal": lambda p, q, drafts: int(p.argmax()) if (p == q).all() else None,
    "disjoint": lambda p, q, drafts: None if (p * q).any() else int(p.argmax()),
    "almost certain": lambda p, q, drafts: int(drafts[0]) if 0.85 < p[drafts[0]] < 0.95 else None,
}


@pytest.mark.parametrize("edge", EDGES)
def test_edges_are_tried_with_three_candidates(edge: str) -> None:
    right = step(scheme="iid", error="", at=0)

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        wrong = EDGES[edge](p, q, drafts) if len(drafts) == 3 else None
        return right(p, q, drafts, random) if wrong is None else wrong

    assert judge(Subject("edge", "step", run), properties=["degenerate"]).outcome == "convicted"


def test_a_tie_in_the_second_round() -> None:
    """A candidate of which exactly as much is left as the draft has is to be kept."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        for rank, x in enumerate(drafts):
            if not (rank and p[x] == q[x]) and random.random() * q[x] < p[x]:
                return int(x)
            p = rest(p, q)
        return drawn(random, p)

    assert judge(Subject("tie", "step", run, sizes=(2,)), properties=["degenerate"]).outcome == "convicted"


@pytest.mark.parametrize("token", [1, 126, 255, 298])
def test_each_of_300_tokens_is_drafted(token: int) -> None:
    right = step(scheme="iid", error="", at=0)

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        return token if drafts[0] == token else right(p, q, drafts, random)

    assert judge(Subject("token", "step", run, sizes=(1,)), properties=["marginal"]).outcome == "convicted"
