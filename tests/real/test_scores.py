"""Scores of drafters by name, and chats: what is predicted of a text is what the loop does."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch

import real
from real import TINY
from real.named import drafters

PROMPTS = ["import os\n\n", "class Stack:\n    def push"]
OF_TINY = [name for name in drafters() if "/" not in name]  # the others are trained for another target


@cache
def pair() -> real.Pair:
    torch.set_num_threads(1)
    return real.load(TINY / "target", TINY / "draft", dtype=torch.float64)


@cache
def alone() -> Any:
    return real.load(TINY / "target", dtype=torch.float64)


def tokens(runs: Any) -> list[list[int]]:
    return [run.tokens for run in runs]


@pytest.mark.parametrize("name", OF_TINY)
def test_a_score_predicts_the_blocks_of_a_named_drafter(name: str) -> None:
    """A greedy text has one way to be written, so that tau is the tokens that its blocks had."""
    run: Any = pair().generate(PROMPTS[1], drafter=name, gamma=2, temperature=0, max_tokens=16)
    score = pair().score(run.tokens, prompt=PROMPTS[1], drafter=name, gamma=2, temperature=0)
    assert score.tau(2) == pytest.approx(len(run.tokens) / len(run.blocks))
    assert score.tau(0) == 1


def test_a_draft_model_has_one_score() -> None:
    """Alone and as the drafter `lm`; and a drafter is scored for 8 drafts, or for as many as it makes."""
    given: dict[str, Any] = {"text": [5, 6, 7, 8, 9], "prompt": "a = 1\n"}
    alike, whole = pair().score(**given, drafter="lm"), pair().score(**given)
    assert (alike.q.shape, alone().score(**given, drafter="heads").q.shape) == ((5, 8), (5, 6))
    for gamma in (0, 1, 3, 8):
        assert alike.tau(gamma, rule="block") == pytest.approx(whole.tau(gamma, rule="block"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gamma": 3}, "gamma=3 is for a drafter: a score predicts tau for every length"),
        ({"drafter": "heads", "gamma": 7}, "gamma=7 is too long: the drafter makes 6 drafts"),
        ({"drafter": "heads", "gamma": 0}, "gamma must be at least 1"),
        ({"drafter": "nothing"}, "drafter 'nothing' is unknown"),
        ({"drafter": "fspad"}, "drafter 'fspad': the drafter reads states of width 576"),
        ({"chat": True}, "chat writes a template around a prompt: give the prompt, too"),
        ({"chat": True, "prompt": "a"}, "the tokenizer has no chat template: decode after plain text"),
    ],
)
def test_scores_that_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pair().score([5, 6, 7], **given)


def test_a_score_knows_its_lengths_and_rules() -> None:
    score = pair().score([5, 6, 7], drafter="feature", gamma=2)
    with pytest.raises(ValueError, match=r"^gamma=3 is above the 2 drafts that the text was scored for"):
        score.tau(3)
    with pytest.raises(ValueError, match=r"^rule 'race' is a coupled rule: its tau needs whole rows"):
        score.tau(2, rule="race")
    with pytest.raises(ValueError, match=r"^the drafter has a context of 512|context of 512"):
        pair().score([5] * 600, drafter="lm")


def test_a_chat_template_is_written_around_a_prompt_if_asked() -> None:
    """By default a prompt is continued as it stands; a score of the text has the same prompt."""
    tokenizer = copy.deepcopy(pair().tokenizer)
    tokenizer.chat_template = "{% for m in messages %}def {{ m.content }}:\n{% endfor %}"
    chatty = replace(pair(), tokenizer=tokenizer)
    given: dict[str, Any] = {"max_tokens": 6, "temperature": 0}
    said: Any = chatty.generate(["main()", "f(x)"], chat=True, **given)
    assert tokens(said) == tokens(pair().generate(["def main():\n", "def f(x):\n"], **given))
    assert tokens(chatty.generate(["main()"], **given)) == tokens(pair().generate(["main()"], **given))
    scores = [
        chatty.score(said[0].tokens, prompt="main()", chat=True), pair().score(said[0].tokens, prompt="def main():\n")
    ]  # fmt: skip
    assert (scores[0].p == scores[1].p).all()
    with pytest.raises(TypeError, match=r"^chat must be True or False, got 'yes'"):
        chatty.generate("main()", chat="yes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^the tokenizer has no chat template"):
        pair().generate("main()", chat=True)
