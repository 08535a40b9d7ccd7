"""Residuals of which a part is faint, and errors at some numbers of tokens alone: both were once acquitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specsim.conform import Subject, doubts, judge, judgement
from specsim.conform.properties import _laws, degenerate
from specsim.conform.standard_cases import BETWEEN, drawn_vocabs, standard
from specsim.conform.subject import Kind
from specsim.conform.toys import FAINT, LARGE
from specsim.types import Array


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shrink nothing, compare nothing with the museum, and believe a law after a few more runs."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)
    monkeypatch.setattr(doubts, "runs_asked", lambda *_: 20)


def without_faint(left: Array, least: float) -> Array:
    return left * (left >= least * left.max())


def shown_as(kind: Kind, least: float, *, coins: bool = False) -> Subject:
    """A verifier that draws from its residual without weights below a part of the largest."""

    def token(p: Array, q: Array | None, x: int, u: Any) -> tuple[bool, int]:
        drafted = np.eye(len(p))[x] if q is None else q
        if u[0] * drafted[x] < p[x]:
            return True, x
        left = without_faint((p - drafted).clip(0), least)
        left = left if left.any() else p
        ends = np.cumsum(left)
        return False, int(np.searchsorted(ends / ends[-1], float(u[1]), side="right")) if coins else u[1](left)

    def drawn(random: Any) -> Any:
        if coins:
            return random
        return random.random(), lambda left: int(random.choice(len(left), p=left / left.sum()))

    def step(p: Array, q: Array | None, drafts: Array, random: Any) -> int:
        return token(p, q, int(drafts[0]), drawn(random))[1]

    def chain(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
        for i, x in enumerate(drafts.tolist()):
            is_kept, y = token(p[i], q[i], x, drawn(random))
            if not is_kept:
                return i, y
        return len(drafts), int(random.choice(p.shape[1], p=p[-1]))

    more: dict[str, Any] = {"randomness": "coins", "coins": lambda _: 2} if coins else {}
    return Subject("faint", kind, {"step": step, "chain": chain}[kind], sizes=(1,), **more)


WAYS = {
    "step": lambda least: shown_as("step", least),
    "chain": lambda least: shown_as("chain", least),
    "step, float32": lambda least: shown_as("step", least)._replace(dtype="float32"),
    "step, certain drafts": lambda least: shown_as("step", least)._replace(takes_q=False),
    "step, coins": lambda least: shown_as("step", least, coins=True),
}


@pytest.mark.parametrize("least", [1e-2, 1e-3, 1e-4])
def test_faint_weights_that_are_dropped_convict(least: float) -> None:
    """No residual had weights further apart than 90 to 1: a verifier that drops all below 1e-3 was lossless."""
    (found,) = judge(shown_as("step", least), properties=["degenerate"]).verdicts
    assert (found.outcome, found.evidence) == ("convicted", "scripted")
    assert found.reach == "V=64, 1 draft: faint tokens left over"


@pytest.mark.parametrize(
    ("way", "least"), [(way, least) for way in WAYS for least in (0.0, 1e-4) if least or way != "step, coins"]
)
def test_faint_weights_in_every_kind_of_verifier(way: str, least: float) -> None:
    (found,) = judge(WAYS[way](least), properties=["degenerate"], budget=60).verdicts
    assert found.outcome == ("convicted" if least else "lossless"), found.words
    assert least or "V=64, 1 draft; V=300, 1 draft" in found.reach


@pytest.mark.parametrize("least", [0.0, 1e-3])
def test_faint_weights_of_a_large_vocabulary(least: float) -> None:
    """A verifier that is right up to 128 tokens drops what is faint on more."""
    small, large = shown_as("step", 0.0).run, shown_as("step", least).run
    subject = Subject("tiled", "step", lambda p, *more: (large if len(p) > 128 else small)(p, *more), sizes=(1,))
    (found,) = judge(subject, properties=["degenerate"], budget=60).verdicts
    assert found.outcome == ("convicted" if least else "lossless")
    assert not least or found.reach.startswith(f"V={LARGE}")


def test_faint_tokens_are_faint_and_many() -> None:
    for case in degenerate.cases(Subject("any", "step", print, sizes=(1,))):
        if case.exact_only:
            left = (case.p(()) - case.q(())).clip(0)
            weights = np.sort(left[left > 0])
            assert np.unique(weights / weights[-1])[0] < 1e-4
            assert len(weights) == FAINT[len(left)] - 1
            assert weights[:-1].sum() > 2e-3 * weights[-1]


def flat_coins(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Draws so many coins up front that no law of many tokens is followed in a small part of the time."""
    u = random.random(len(p))
    if sum(bool(one < 0.5) for one in u) > len(p):
        return -1
    x = int(drafts[0])
    left = (p - q).clip(0)
    return x if random.random() * q[x] < p[x] else int(random.choice(len(p), p=left / left.sum()))


def test_what_only_an_exact_law_shows_is_not_sampled() -> None:
    """The cases are left out, not called undecided, and the others keep their time."""
    (found,) = judge(Subject("flat", "step", flat_coins, sizes=(1,)), properties=["degenerate"], budget=4).verdicts
    assert found.outcome == "lossless"
    assert "V=64" not in found.reach


def gated(lowest: int, highest: int, name: str = "gated") -> Subject:
    """A verifier that keeps every draft at some numbers of tokens."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        x = int(drafts[0])
        if lowest <= len(p) <= highest or random.random() * q[x] < p[x]:
            return x
        left = (p - q).clip(0)
        return int(random.choice(len(p), p=left / left.sum()))

    return Subject(name, "step", run, sizes=(1,))


@pytest.mark.parametrize("gate", [(9, 60), (17, 32), (9, 16)])
def test_every_draft_is_kept_at_some_numbers_of_tokens(gate: tuple[int, int]) -> None:
    """Sizes were 3, 5, 8, 65, 300 and 1,000: a verifier that keeps all drafts of 9 to 60 tokens was lossless."""
    (found,) = judge(gated(*gate), properties=["marginal"]).verdicts
    assert found.outcome == "convicted"
    assert gate[0] <= int(found.reach.removeprefix("V=").partition(",")[0]) <= gate[1]


def test_numbers_of_tokens_are_drawn_by_the_name_and_said() -> None:
    names = [f"name {i}" for i in range(300)]
    drawn = [drawn_vocabs(gated(0, 0, name)) for name in names]
    assert all({one[i] for one in drawn} == set(BETWEEN[i]) for i in range(len(BETWEEN)))
    (found,) = judge(gated(0, 0), properties=["marginal"]).verdicts
    assert found.outcome == "lossless"
    for vocab in drawn_vocabs(gated(0, 0)):
        assert f"V={vocab}, 1 draft" in found.reach


@pytest.mark.parametrize(
    ("kind", "more"),
    [("step", {}), ("step", {"takes_q": False}), ("step", {"sizes": (2,)}), ("chain", {}), ("tree", {})],
)
def test_tokens_between_are_drafted_too_often(kind: Kind, more: dict[str, Any]) -> None:
    subject = Subject("any", kind, print, **more)
    cases = [case for case in standard(subject) if case.exact_only]
    single = kind in ("step", "chain") and not more
    assert tuple(case.target.vocab for case in cases) == (*drawn_vocabs(subject), *[LARGE] * single)
    for case in cases:
        too_often = case.q(()) > case.p(())
        assert too_often.sum() == (case.target.vocab - 1 if single else 1)


@pytest.mark.parametrize("takes_q", [True, False])
def test_no_sum_of_probabilities_is_rounded(takes_q: bool) -> None:
    """A cumulative sum that is not scaled falls off its end once in 2^53 draws, which convicts nobody."""
    subject = Subject("any", "step", print, sizes=(1,), takes_q=takes_q)
    cases = [case for case in (*standard(subject), *degenerate.cases(subject)) if case.exact_only]
    assert len(cases) == len(BETWEEN) + len(FAINT) + takes_q
    for case in cases:
        left = (case.p(()) - case.q(())).clip(0)
        for row in (case.p(()), left / left.sum()):
            assert row.cumsum()[-1] == row.astype(np.float32).cumsum()[-1] == 1
