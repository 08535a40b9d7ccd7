"""Judge Decoding: its decode loop against laws that are written out, what rules cost, and the verdict."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from real.papers.lab import contract
from real.papers.lab.contract import Record
from real.papers.models.sums import chains, judging
from real.papers.models.sums.judging import Head
from real.papers.systems import judge
from real.studies.intervals import Estimate
from specsim.testing.statistics import assert_law
from specsim.types import Array

TARGET = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])  # the law of the next token by the last one
DRAFT = np.array([[0.3, 0.3, 0.4], [0.4, 0.2, 0.4], [0.5, 0.3, 0.2]])


NOBODY = Head(np.zeros(3), np.ones(3), np.zeros(3), 0.0)


class Table:
    """A model whose laws stand in a table, and whose state is the token that it read last."""

    def __init__(self, table: Array) -> None:
        self.table = torch.from_numpy(table)

    def model(self, texts: Tensor, use_cache: bool) -> Any:
        return SimpleNamespace(last_hidden_state=torch.nn.functional.one_hot(texts, len(self.table)).double())

    def lm_head(self, states: Tensor) -> Tensor:
        return (states @ self.table).log()


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of one token and four more, in blocks of two drafts."""
    for name, value in {"HEAD": 1, "LENGTH": 5, "GAMMA": 2, "END": 0}.items():
        monkeypatch.setattr(judge, name, value)


def texts_law(rule: judge.Rule, target: Array = TARGET, count: int = 4000) -> tuple[Array, judge.Decoded]:
    done = judge.decode(Table(target), Table(DRAFT), torch.zeros(count, 1, dtype=torch.int64), rule, 0)
    return np.asarray(done.texts @ torch.tensor([0, 27, 9, 3, 1])), done


def test_the_standard_test_keeps_the_law() -> None:
    found, done = texts_law(judge.standard)
    law = np.einsum("a,ab,bc,cd->abcd", TARGET[0], TARGET, TARGET, TARGET).ravel()
    assert_law(found, law, false_alarm=1e-6)
    assert (done.whole <= done.blocks).all()
    assert (done.kept <= 2 * done.whole).all()
    with pytest.raises(AssertionError):
        assert_law(texts_law(judge.lenient(0.2))[0], law, false_alarm=1e-6)


def test_what_always_passes_is_the_drafts() -> None:
    """Of each three tokens two are the draft's, and one the target's; the last block's second draft is cut."""
    found, done = texts_law(judge.BESIDE["all accepted"])
    law = np.einsum("a,ab,bc,cd->abcd", DRAFT[0], DRAFT, TARGET, DRAFT).ravel()
    assert_law(found, law, false_alarm=1e-6)
    assert (done.blocks.tolist(), done.whole.tolist(), done.kept.tolist()) == ([2] * 4000, [1] * 4000, [2] * 4000)


def test_a_rule_is_given_the_state_at_the_draft() -> None:
    """Not the one before it, which gave the target's row; and the rows are those of the drafts' places."""

    def rule(p: Array, drafts: Array, states: Array) -> tuple[str, dict[str, Any]]:
        np.testing.assert_array_equal(states.argmax(axis=-1), drafts)
        np.testing.assert_allclose(p[:, 1], TARGET[drafts[:, 0]])
        return "rejection", {}

    texts_law(rule, count=50)


def test_a_judge_passes_the_drafts_that_it_is_sure_of() -> None:
    """One that passes token 2 alone is the rule `judge` with that set at every place."""
    head = Head(np.zeros(3), np.ones(3), np.array([-9.0, -9.0, 9.0]), 0.0)
    one, other = (
        judge.decode(Table(TARGET), Table(DRAFT), torch.zeros(500, 1, dtype=torch.int64), rule, 1)
        for rule in (judge.judged_by(head, 0.5), judge.passing_tokens(lambda p: np.arange(3) == 2 + 0 * p.astype(int)))
    )
    assert torch.equal(one.texts, other.texts)
    plain = judge.decode(Table(TARGET), Table(DRAFT), torch.zeros(500, 1, dtype=torch.int64), judge.standard, 1)
    assert one.kept.sum() > plain.kept.sum()
    never = judge.decode(Table(TARGET), Table(DRAFT), one.texts[:, :1], judge.judged_by(head, 1.0), 1)
    assert torch.equal(never.texts, plain.texts)


@pytest.mark.parametrize("delta", [-0.1, 1.5, float("nan")])
def test_a_delta_that_is_no_chance_is_refused(delta: float) -> None:
    """Before any text is read."""
    for call in (lambda: judge.judged_by(NOBODY, delta), lambda: judging.passing(NOBODY, None, torch.zeros(0), delta)):
        with pytest.raises(ValueError, match=rf"^delta is {delta}; it must lie in \[0, 1\]$"):
            call()


def test_sets_of_the_targets_rows() -> None:
    p = np.array([[0.5, 0.3, 0.15, 0.04, 0.01]])
    for name, passing in {"top 2": [1, 1, 0, 0, 0], "top 4": [1, 1, 1, 1, 0], "p > 0.05": [1, 1, 1, 0, 0]}.items():
        rule, params = judge.BESIDE[name](p, p, p)
        assert (rule, params["judged"].astype(int).tolist()) == ("judge", [passing])


def test_delta_is_chosen_by_what_is_kept_and_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """The most drafts kept, right answers within a point; of as many, the surest."""
    table = {None: (2, 0.99), 0.1: (6, 0.97), 0.5: (5, 0.98), 0.9: (5, 0.99)}

    def decoded(rule: Any) -> Any:
        kept, right = table[rule]
        return SimpleNamespace(kept=np.array([kept]), whole=np.array([1]), texts=right)

    monkeypatch.setattr(judge, "decode_all", lambda target, draft, asked, rules, seed: [*map(decoded, rules)])
    monkeypatch.setattr(judge, "standard", None)
    monkeypatch.setattr(judge, "judged_by", lambda head, delta: delta)
    monkeypatch.setattr(chains, "right", lambda texts: np.array([texts]))
    asked: Any = None
    for share, delta in ((0.97, 0.9), (0.985, 0.1)):
        table[0.1] = (6, share)
        assert judge.chosen(None, None, asked, asked, 0) == delta
    table[0.5] = table[0.1] = table[0.9] = (8, 0.5)
    assert judge.chosen(None, None, asked, asked, 0) == 0.9


def test_costs_are_prices() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(22), (2, 3, 4))
    rules = {"judge": ("judge", {"judged": rng.random(p.shape) < 0.5}), "lenience": ("lenience", {"epsilon": 0.3})}
    measured, off = judge.priced(p, q, rules)
    assert off < 1e-12
    paid = measured["acceptance a place, judge"].value - np.minimum(p, q).sum(axis=-1).mean()
    assert measured["bias a place, judge"].value == pytest.approx(paid)
    assert judge.priced(p, q, {"greedy": ("greedy", {})})[1] > 0.01


def found(kept: tuple[float, float], right: tuple[float, float], alone: tuple[float, float]) -> Record:
    names = dict(zip((judge.HEADLINE, judge.RIGHT, judge.DRAFTED), (kept, right, alone), strict=True))
    return Record({}, {name: Estimate(sum(ends) / 2, *ends) for name, ends in names.items()}, {})


@pytest.mark.parametrize(
    ("kept", "right", "alone", "verdict"),
    [
        ((0.5, 0.9), (-0.01, 0.01), (-0.5, -0.3), "shows"),
        ((-0.1, 0.9), (-0.01, 0.01), (-0.5, -0.3), "does not show"),
        ((0.5, 0.9), (-0.03, 0.01), (-0.5, -0.3), "does not show"),
        ((0.5, 0.9), (-0.01, 0.01), (-0.2, -0.05), "does not show"),
        ((-0.9, -0.1), (-0.01, 0.01), (-0.5, -0.3), "contradicts"),
        ((0.5, 0.9), (-0.09, -0.03), (-0.5, -0.3), "contradicts"),
    ],
)
def test_each_interval_has_its_say(
    kept: tuple[float, float], right: tuple[float, float], alone: tuple[float, float], verdict: str
) -> None:
    assert judge.verdict(found(kept, right, alone)) == verdict


def test_an_interval_of_one_side() -> None:
    """The lower end of 90 % is that of 95 % on one side: nearer than that of 95 % on two."""
    rng = np.random.default_rng(0)
    one, other = rng.random(300) < 0.98, rng.random(300) < 0.99
    sided, plain = judge.less(one, other, 0.9), judge.less(one, other)
    assert plain.low < sided.low < sided.value == pytest.approx(one.mean() - other.mean())
    assert math.isclose(sided.value, plain.value)


def test_numbers_are_told_once() -> None:
    record = found((0.5, 0.9), (-0.01, 0.01), (-0.5, -0.3))
    assert contract.checked(record, judge.HEADLINE) == record


def test_rules_that_decode_together_decode_as_they_do_alone() -> None:
    asked, rules = (
        torch.zeros(200, 1, dtype=torch.int64),
        [judge.standard, judge.lenient(0.3), judge.passing_tokens(lambda p: p > 0.2)],
    )
    for rule, found in zip(rules, judge.decode_all(Table(TARGET), Table(DRAFT), asked, rules, 3), strict=True):
        alone = judge.decode(Table(TARGET), Table(DRAFT), asked, rule, 3)
        assert torch.equal(found.texts, alone.texts)
        assert all((a == b).all() for a, b in zip(found[1:], alone[1:], strict=True))
