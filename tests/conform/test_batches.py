"""Rows of a batch are judged together: coins that they share convict."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from specsim import discover
from specsim.conform import judge, likeness, rules
from specsim.conform.properties import batches
from specsim.types import Array


def in_batches(shared: bool, followed: bool) -> Any:
    """Tokenwise rejection; coins that are turned into floats cannot be followed."""

    def batch(p: Array, q: Array, drafts: Array, u: Array) -> Any:
        rule = discover.find("chain", "tokenwise")
        u = u if followed else np.array(u, dtype=float)
        return rule.verify(rule.prepare(p, q), drafts, np.stack([u[0]] * len(u)) if shared else u)

    return batch


@pytest.mark.parametrize(("followed", "evidence"), [(True, "scripted"), (False, "Monte Carlo")])
@pytest.mark.parametrize("shared", [False, True])
def test_rows_of_a_batch(shared: bool, followed: bool, evidence: str) -> None:
    """Two rows exactly; the frequencies of many where that cannot be had."""
    rule = discover.find("chain", "tokenwise")
    subject = rules.subject(rule)._replace(batch=in_batches(shared, followed), sizes=(1,))
    assert judge(subject, properties=["joint"]).outcome == "lossless", "single calls are right"
    found = judge(subject, budget=60 if followed else 5, properties=["batches"]).verdicts[0]
    assert (found.outcome, found.evidence) == ("convicted" if shared else "lossless", evidence)
    if not followed:
        words = (
            "row i and row i + 1, counting judged rows alone, emit the same in"
            if shared
            else "3 equal rows are not scripted"
        )
        assert words in found.words


def cut_by_the_first(p: Array, q: Array, drafts: Array, u: Array) -> Any:
    """Tokens that the first row's target excludes are taken from every row."""
    rule, cut = discover.find("chain", "tokenwise"), p * (p[:1] > 0)
    left = cut.sum(-1, keepdims=True)
    p = np.where(left > 0, cut / np.where(left > 0, left, 1), p)
    return rule.verify(rule.prepare(p, q), drafts, u)


def test_either_row_is_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first row that excludes nothing hides what it does to the other."""
    monkeypatch.setattr(likeness, "names", lambda folder: [])
    subject = rules.subject(discover.find("chain", "tokenwise"))._replace(batch=cut_by_the_first, sizes=(1,))
    (found,) = judge(subject, properties=["batches"]).verdicts
    assert (found.outcome, found.evidence) == ("convicted", "scripted")
    assert found.reach.endswith("two rows among 4")


def one_correction_for_all(p: Array, q: Array, drafts: Array, u: Array) -> Any:
    """Every row has tests of its own; what is left over is drawn with the first row's number."""
    rule = discover.find("chain", "tokenwise")
    u = np.concatenate([u[:, :-1], np.stack([u[0, -1:]] * len(u))], axis=1)
    return rule.verify(rule.prepare(p, q), drafts, u)


def test_rows_that_share_a_correction_hang_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only rows that are all rejected, and have two tokens to choose from, show it."""
    monkeypatch.setattr(likeness, "names", lambda folder: [])
    subject = rules.subject(discover.find("chain", "tokenwise"))._replace(batch=one_correction_for_all, sizes=(1,))
    (found,) = judge(subject, properties=["batches"]).verdicts
    assert (found.outcome, found.evidence) == ("convicted", "scripted")
    assert found.reach.endswith("2 equal rows that reject")


ROWS = 8  # of the largest batch that is judged exactly


def shared_by_many(p: Array, q: Array, drafts: Array, u: Array) -> Any:
    """Rows of larger batches all take the numbers of the first one."""
    rule = discover.find("chain", "tokenwise")
    return rule.verify(rule.prepare(p, q), drafts, u if len(u) <= ROWS else np.stack([u[0]] * len(u)))


def refused_to_many(p: Array, q: Array, drafts: Array, u: Array) -> Any:
    """Buffers that are made for so many rows take no more."""
    if len(u) > ROWS:
        raise ValueError("no buffer for so many rows")
    return shared_by_many(p, q, drafts, u)


def third_token_kept_by_many(p: Array, q: Array, drafts: Array, u: Array) -> Any:
    """Rows share no number, but the later rows of larger batches keep token 2 untested."""
    rule = discover.find("chain", "tokenwise")
    is_kept = (np.arange(len(u)) >= ROWS)[:, None] & (drafts == 2)
    tested = np.concatenate([np.where(is_kept, 0, u[:, :-1]), u[:, -1:]], axis=1)
    return rule.verify(rule.prepare(p, q), drafts, tested)


@pytest.mark.parametrize(
    ("batch", "outcome", "evidence", "words"),
    [
        (third_token_kept_by_many, "convicted", "Monte Carlo", "V="),
        (shared_by_many, "convicted", "Monte Carlo", "rows of one batch depend on each other: row i and row i + 1"),
        (refused_to_many, "lossless", "scripted", "of more rows nothing is known: raised ValueError: no buffer"),
    ],
)
def test_small_batches_do_not_answer_for_larger_ones(
    batch: Any, outcome: str, evidence: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly lossless in few rows: in many the frequencies decide, or the verdict says that nothing is known."""
    every = batches.batches
    monkeypatch.setattr(batches, "batches", lambda subject: itertools.islice(every(subject), 1))
    monkeypatch.setattr(likeness, "names", lambda folder: [])
    subject = rules.subject(discover.find("chain", "tokenwise"))._replace(batch=batch, sizes=(1,))
    (found,) = judge(subject, properties=["batches"]).verdicts
    assert (found.outcome, found.evidence) == (outcome, evidence)
    assert words in found.words
    assert "many rows" not in found.reach
