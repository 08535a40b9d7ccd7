"""Errors that were once acquitted: each shows at an input that no case had before, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.residuals import drawn, rest

from specsim.conform import SamplingParams, Subject, judge, judgement
from specsim.conform.cases import warped
from specsim.conform.properties import _laws
from specsim.conform.standard_cases import standard
from specsim.conform.subject import ORDER
from specsim.conform.subject_call import inputs
from specsim.types import Array, TokenTree


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shrunk, or compared with the museum."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


def decoder(wrong: str) -> Any:
    """Blocks of one draft."""

    def run(
        target: Any,
        draft: Any,
        prompt: Any,
        n: int,
        sampling_params: SamplingParams,
        random: Any,
        *,
        end: int | None = None,
    ) -> Any:
        text: list[int] = []
        while len(text) + (len(prompt) if wrong == "counts it" else 0) < n:
            seen = [*prompt, *text]
            seen = {"ignores it": text, "forgets it": seen[-2:], "first token": [*prompt[:1], *text]}.get(wrong, seen)
            p, q = target(seen), draft(seen)
            x = drawn(random, q)
            kept = random.random() * q[x] < p[x]
            text.append(x if kept else drawn(random, rest(p, q)))
            if end in ([*prompt, *text] if wrong == "ends with it" else text):
                break
        return text

    return run


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ("", ""),
        ("ignores it", "joint marginal rounds truncation"),
        ("first token", "joint marginal rounds truncation"),
        ("forgets it", "joint"),
        ("counts it", "truncation"),
        ("ends with it", "truncation"),
    ],
)
def test_a_prompt_belongs_to_the_text(wrong: str, names: str) -> None:
    """`forgets it`: of a text of more than two tokens the last two alone are read."""
    subject = Subject("decoder", "decoder", decoder(wrong), sizes=(1, 2), stops=True)
    asked = ["marginal", "joint", "rounds", "truncation"]
    for verdict in judge(subject, properties=asked).verdicts:
        convicted = verdict.convicted
        assert convicted or verdict.outcome == "lossless"
        assert convicted or verdict.property not in names.split(), verdict.property
        assert wrong or not convicted, verdict.words
        assert not convicted or "after (0, 1)" in verdict.reach or "after 21 tokens" in verdict.reach


TEMPERATURE_FIRST, TOP_P_FIRST = ORDER, ("top_k", "top_p", "temperature")


def ordered(of_target: tuple[str, ...], of_draft: tuple[str, ...]) -> Any:
    """Both laws under the sampling parameters, each in an order of its own."""

    def run(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> Any:
        p = np.stack([warped(row, sampling_params, of_target) for row in p])
        q, x = warped(q[0], sampling_params, of_draft), int(drafts[0])
        if random.random() * q[x] < p[0, x]:
            return 1, drawn(random, p[1])
        return 0, drawn(random, rest(p[0], q))

    return run


@pytest.mark.parametrize("of_target", [TEMPERATURE_FIRST, TOP_P_FIRST])
@pytest.mark.parametrize("order", [TEMPERATURE_FIRST, TOP_P_FIRST])
def test_the_order_of_sampling_parameters_shows(of_target: tuple[str, ...], order: tuple[str, ...]) -> None:
    """One that is declared, and is the draft's, too, is no error."""
    subject = Subject("ordered", "chain", ordered(of_target, order), sizes=(1,), warps=True, order=order)
    (found,) = judge(subject, properties=["parameters"]).verdicts
    assert found.outcome == ("lossless" if of_target == order else "convicted")
    assert not found.convicted or "temperature 2, top-p 0.7" in found.words


def test_an_order_is_of_all_parameters() -> None:
    with pytest.raises(ValueError, match="subject 'plain': order is"):
        judge(Subject("plain", "step", print, order=("top_k",)))


def tree(wrong: bool) -> Any:
    """Draw from the target down the tree; below a second sibling the row of the first one, if it is wrong."""

    def run(p: Array, q: Array, drafted: TokenTree, random: Any) -> Any:
        path: list[int] = []
        while True:
            node = path[-1] if path else -1
            kids = [i for i, parent in enumerate(drafted.parents) if parent == node]
            siblings = [i for i, parent in enumerate(drafted.parents) if path and parent == drafted.parents[node]]
            row = siblings[0] if wrong and kids and siblings else node
            token = drawn(random, p[row + 1])
            hit = next((i for i in kids if drafted.tokens[i] == token), None)
            if hit is None:
                return path, token
            path.append(hit)

    return run


@pytest.mark.parametrize(("wrong", "outcome"), [(False, "lossless"), (True, "convicted")])
def test_a_second_sibling_has_children(wrong: bool, outcome: str) -> None:
    assert judge(Subject("tree", "tree", tree(wrong)), properties=["joint"]).outcome == outcome


def batch(wrong: bool, followed: bool) -> Any:
    def run(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        if not followed:
            random = np.random.default_rng(int(float(random.random()) * 2**53))
        out = []
        for n in range(len(p)):
            x = int(drafts[n, 0])
            kept = bool(random.random() * q[n, 0, x] < p[n, 0, x])
            out.append((int(kept), drawn(random, p[n, 1] if kept else rest(p[n, 0], q[n, 0]))))
        found = np.array(out[::-1] if wrong else out)
        return found[:, 0], found[:, 1]

    return run


@pytest.mark.parametrize("followed", [True, False])
@pytest.mark.parametrize(("wrong", "outcome"), [(False, "lossless"), (True, "convicted")])
def test_rows_of_a_batch_stay_in_their_places(
    wrong: bool, followed: bool, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that gets the tokens of another has the law of all rows, where all rows have one law."""
    monkeypatch.setattr("specsim.conform.evidence.montecarlo.WANTED", 0.09)
    rows = batch(wrong, followed)

    def one(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        kept, token = rows(p[None], q[None], drafts[None], random)
        return int(kept[0]), int(token[0])

    subject = Subject("rows", "chain", one, sizes=(1,), batch=rows)
    found = judge(subject, properties=["batches"]).verdicts[0]
    assert (found.outcome, found.evidence) == (outcome, "scripted" if followed else "Monte Carlo")


def until_it_fits(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """What is left over is drawn by rejection: from the target, until a draw is one that the draft lacks."""
    x = int(drafts[0])
    if random.random() * q[x] < p[x]:
        return x
    while True:
        y = drawn(random, p)
        if not random.random() * p[y] <= q[y]:
            return y


def test_what_draws_until_it_fits_is_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path without end is too long, and no hang."""
    monkeypatch.setattr("specsim.conform.evidence.montecarlo.WANTED", 0.09)
    subject = Subject("until it fits", "step", until_it_fits, sizes=(1,))
    (found,) = judge(subject, properties=["marginal"], budget=100).verdicts
    assert (found.outcome, found.evidence) == ("lossless", "Monte Carlo")
    assert "decisions along one path" in found.words


def lookup(wrong: bool) -> Any:
    """Drafts are certain; what is drawn instead of a rejected one is not one of the block so far, if it is wrong."""

    def run(p: Array, q: None, drafts: Array, random: Any) -> Any:
        for i, x in enumerate(drafts):
            if not random.random() < p[i, x]:
                gone = drafts[: i + 1] if wrong else [x]
                law = np.where(np.isin(np.arange(p.shape[1]), gone), 0, p[i])
                return i, drawn(random, law / law.sum() if law.any() else p[i])
        return len(drafts), drawn(random, p[-1])

    return run


@pytest.mark.parametrize(("wrong", "outcome"), [(False, "lossless"), (True, "convicted")])
def test_certain_drafts_are_alike_in_one_case_and_differ_in_another(wrong: bool, outcome: str) -> None:
    subject = Subject("lookup", "chain", lookup(wrong), sizes=(1, 2), takes_q=False)
    assert judge(subject, properties=["joint"]).outcome == outcome
    drafts = [tuple(inputs(subject, case)[0].tree.tokens) for case in standard(subject) if case.size == 2]
    assert [one == other for one, other in drafts] == [True, False]


def lanes(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    """Rows an even number apart share their coins: two neighbours do not."""
    coins, out = [random.random(2) for _ in range(2)], []
    for n in range(len(p)):
        u, x = coins[n % 2], int(drafts[n, 0])
        kept = bool(u[0] * q[n, 0, x] < p[n, 0, x])
        law = p[n, 1] if kept else rest(p[n, 0], q[n, 0])
        out.append((int(kept), sum(bool(u[1] >= end) for end in np.cumsum(law)[:-1])))
    found = np.array(out)
    return found[:, 0], found[:, 1]


def test_more_than_two_rows_are_seen() -> None:
    def one(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
        kept, token = lanes(p[None], q[None], drafts[None], random)
        return int(kept[0]), int(token[0])

    subject = Subject("lanes", "chain", one, sizes=(1,), batch=lanes)
    (found,) = judge(subject, properties=["batches"]).verdicts
    assert (found.outcome, found.evidence) == ("convicted", "scripted")
    assert found.reach.endswith("3 equal rows")
