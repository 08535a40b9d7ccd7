"""Chains of additions: texts, the models that write them, and labels that are mined from their mismatches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from real.papers.models.sums import chains, judging
from real.papers.models.sums.chains import ANSWER, ASK, CONNECTIVES, END, EQUALS, HEAD, LENGTH, PLUS, START, SUMS, VOCAB
from real.papers.models.sums.judging import Labels


class Scripted:
    """A model that gives every token after a text by a rule of the text; its state is the token that it read last."""

    def __init__(self, follows: Any) -> None:
        self.follows = follows

    def model(self, texts: Tensor, use_cache: bool) -> Any:
        self.texts = texts
        return SimpleNamespace(last_hidden_state=torch.nn.functional.one_hot(texts, VOCAB).float())

    def lm_head(self, states: Tensor) -> Tensor:
        laws = torch.stack([self.follows(self.texts[:, : i + 1]) for i in range(self.texts.shape[1])], 1)
        return laws.clamp(min=1e-30).log()


def one_hot(tokens: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(tokens, VOCAB).double()


def careful(texts: Tensor, word: int = CONNECTIVES[0]) -> Tensor:
    """The law of one who adds what stands there, and always says the same word."""
    place = texts.shape[1] - HEAD
    if place < 0:
        return one_hot(torch.zeros(len(texts), dtype=torch.int64))
    line, part = divmod(place, 6)
    last = texts[:, -2] if line == SUMS else texts[:, 1] if line == 0 else texts[:, HEAD + 6 * line - 2]
    if place == 6 * SUMS:
        return one_hot(last)
    if place > 6 * SUMS:
        return one_hot(torch.full_like(texts[:, 0], END))
    told = [last, torch.full_like(last, PLUS), texts[:, 2 + line], torch.full_like(last, EQUALS)]
    if part == 4:
        return one_hot((texts[:, -4] + texts[:, -2]) % 10)
    return one_hot(told[part] if part < 4 else torch.full_like(last, ANSWER if line == SUMS - 1 else word))


def careless(texts: Tensor) -> Tensor:
    """The same with another word, and with one wrong sum: the third is one more."""
    law = careful(texts, CONNECTIVES[2])
    return law.roll(1, 1) if texts.shape[1] == chains.RESULTS[2] else law


def test_a_text_is_a_problem_and_its_sums() -> None:
    rng = np.random.default_rng(0)
    texts = chains.solved(chains.problems(50, rng), [0.5, 0.5, 0, 0, 0, 0], rng)
    assert texts.shape == (50, LENGTH)
    assert chains.right(texts).all()
    for text in texts.tolist():
        assert (text[0], text[HEAD - 1], text[-1], text[-3]) == (START, ASK, END, ANSWER)
        made = text[1]
        for i, added in enumerate(text[2 : HEAD - 1]):
            line = text[HEAD + 6 * i : HEAD + 6 * i + 6]
            assert line[:5] == [made, PLUS, added, EQUALS, (made + added) % 10]
            assert line[5] in (CONNECTIVES[:2] if i < SUMS - 1 else [ANSWER])
            made = line[4]
        assert text[-2] == made
    texts[:, LENGTH - 2] = (texts[:, LENGTH - 2] + 1) % 10
    assert not chains.right(texts).any()
    assert sorted(set(texts[:, chains.RESULTS].flatten().tolist())) == list(range(10))


def test_a_model_that_cannot_err_finishes_right() -> None:
    texts = chains.finished(Scripted(careful), chains.problems(20, np.random.default_rng(1)))
    assert chains.right(texts).all()
    assert not chains.right(chains.finished(Scripted(careless), texts[:, :HEAD])).any()


def test_labels_are_what_the_answer_needs() -> None:
    """A word that is another is unimportant, a sum that is another important; and it is put right."""
    asked = chains.problems(6, np.random.default_rng(2))
    labels = judging.mine(Scripted(careful), Scripted(careless), asked, np.random.default_rng(0))
    assert len(labels.tokens) == 6 * SUMS, "seven words and one sum a text"
    assert judging.of_connectives(labels.tokens[labels.unimportant]) == 1
    assert judging.of_connectives(labels.tokens[~labels.unimportant]) == 0
    assert labels.unimportant.sum() == 6 * (SUMS - 1)
    np.testing.assert_array_equal(labels.states.argmax(axis=-1), labels.tokens, "the state at the draft, not before it")


def test_a_head_learns_what_its_states_tell() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.8
    states = rng.standard_normal((400, 5)) + 3 * np.outer(truth, [1, 0, 0, 0, 0])
    head = judging.fitted(Labels(states, truth, truth.astype(int)))
    told = judging.sure(head, states)
    assert ((told > 0.5) == truth).mean() > 0.9
    assert abs(((told > 0.5) & ~truth).sum() / (~truth).sum() - ((told <= 0.5) & truth).sum() / truth.sum()) < 0.1
    moved = judging.fitted(Labels(10 * states + 7, truth, truth.astype(int)))
    np.testing.assert_allclose(judging.sure(moved, 10 * states + 7), told, atol=1e-3)


@pytest.mark.parametrize("unimportant", [[], [True, True]])
def test_labels_of_one_kind_teach_nothing(unimportant: list[bool]) -> None:
    labels = Labels(np.zeros((len(unimportant), 3)), np.array(unimportant, dtype=bool), np.zeros(0, dtype=int))
    with pytest.raises(ValueError, match=r"^labels are \d, (0|100)% unimportant: a judge learns from both kinds$"):
        judging.fitted(labels)


def test_which_tokens_pass_is_asked_of_each() -> None:
    """In its place, with the text before it."""
    model = Scripted(careful)
    texts = chains.finished(model, chains.problems(2, np.random.default_rng(3)))
    only = np.zeros(VOCAB)
    only[CONNECTIVES[3]] = 9.0
    head = judging.Head(np.zeros(VOCAB), np.ones(VOCAB), only, -4.0)
    passes = judging.passing(head, model, texts, 0.5)
    assert passes.shape == (2, LENGTH - HEAD, VOCAB)
    assert passes.any(axis=(0, 1)).nonzero()[0].tolist() == [CONNECTIVES[3]]
    assert passes[..., CONNECTIVES[3]].all()


def test_unknown_models_are_named() -> None:
    with pytest.raises(ValueError, match=r"^name 'x' is no model of sums; known: sums_target, sums_draft$"):
        chains.model("x")


def test_two_steps_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chains.RECIPES, "sums_draft", chains.RECIPES["sums_draft"] | {"steps": 2, "batch": 4})
    said: list[str] = []
    model = chains.train("sums_draft", said.append)
    assert said[-1].startswith("step 2 of 2: loss ")
    assert np.isfinite(chains.held_out("sums_draft", model))


@pytest.mark.parametrize(("name", "least", "most"), [("sums_target", 0.95, 1.0), ("sums_draft", 0.3, 0.8)])
def test_the_target_can_add_and_the_draft_cannot_always(name: str, least: float, most: float) -> None:
    from real.papers.systems import judge

    asked = chains.problems(60, np.random.default_rng(5))
    assert least <= chains.right(judge.written(chains.model(name), asked, 0)).mean() <= most


@pytest.mark.slow
def test_training_again_gives_the_same_model() -> None:
    trained = chains.held_out("sums_draft", chains.train("sums_draft"))
    assert trained == pytest.approx(chains.held_out("sums_draft", chains.model("sums_draft")), abs=0.01)
