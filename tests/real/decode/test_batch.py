"""One text, whatever its batch, its cache and its path: same uniforms, same tokens."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from helpers.texts import TEXT, difference, exact, text_law
from helpers.tiny_models import tiny_gpt2, tiny_llama, tiny_opt, tiny_qwen2, tiny_qwen3
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import real
from real import TINY
from real.decode import fixed, graphs
from real.decode.loop import Decoded, at_tokens, decode, decode_batch, keyed
from real.decode.stops import stopping
from real.decode.warp import Warping
from real.models import llama
from real.models.model import LanguageModel, from_hf, full_logits
from specsim.base.arrays import pick
from specsim.forking import rational
from specsim.verify.chain import tokenwise

VOCAB = 8


class Uncached:
    """A store that keeps the tokens only, and reads each text from its beginning every time."""

    def __init__(self, model: LanguageModel, batch: int) -> None:
        self._model, self._texts = model, [torch.empty(0, dtype=torch.int64) for _ in range(batch)]

    def append(self, tokens: Tensor, which: list[int], starts: list[int], rows: int) -> Tensor:
        out = []
        for i, start, new in zip(which, starts, tokens, strict=True):
            self._texts[i] = torch.cat([self._texts[i][:start], new])
            logits = full_logits(self._model, self._texts[i])
            out.append(logits[logits.shape[0] - rows :])
        return torch.stack(out)


def uncached(model: LanguageModel) -> LanguageModel:
    return replace(model, new_store=lambda batch: Uncached(model, batch))


@cache
def models(seed: int) -> tuple[tuple[LanguageModel, LanguageModel], tuple[LanguageModel, LanguageModel]]:
    """Target and draft on the fast path, and on the generic one."""
    plain = [tiny_llama(VOCAB, seed=2 * seed + i, layers=1 + (i == 0), dtype=torch.float64) for i in (0, 1)]
    fast, generic = (tuple(from_hf(m, fast=f) for m in plain) for f in (True, False))
    return fast, generic  # type: ignore[return-value]


def third_repeat(text: list[int], safe: int) -> int | None:
    """A stop that depends on more than one token: the second time in a row that a token is followed by itself."""
    ends = (i + 1 for i in range(max(safe, 2), len(text)) if text[i] == text[i - 1] == text[i - 2])
    return next(ends, None)


cases = st.fixed_dictionaries(
    {
        "prompts": st.lists(st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=6), min_size=1, max_size=4),
        "max_tokens": st.integers(1, 14),
        "gamma": st.integers(0, 5),
        "stop": st.sampled_from([frozenset(), frozenset([1]), frozenset([0, 5]), third_repeat]),
        "warping": st.sampled_from([Warping(), Warping(0.5), Warping(0), Warping(top_k=3, repetition_penalty=1.3)]),
    }
)


@pytest.mark.parametrize("examples", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_same_uniforms_same_tokens(examples: int) -> None:
    """Batched = one by one = uncached = the generic path = fixed shapes, with any end anywhere in a block."""

    @settings(max_examples=examples)
    @given(case=cases, seed=st.integers(0, 3), key=st.integers(0, 10**6))
    def check(case: dict[str, Any], seed: int, key: int) -> None:
        assert_same_tokens(case, seed, key)

    check()


def assert_same_tokens(case: dict[str, Any], seed: int, key: int) -> None:
    (target, draft), generic = models(seed)
    prompts, rest = case["prompts"], {k: v for k, v in case.items() if k != "prompts"}
    sources = [keyed(key, i) for i in range(len(prompts))]
    batched = decode_batch(target, draft, prompts, uniforms=sources, **rest)
    for i, prompt in enumerate(prompts):
        alone = decode(target, draft, prompt, uniforms=sources[i], **rest)
        assert (alone.tokens, alone.blocks) == (batched[i].tokens, batched[i].blocks)
        nothing_kept = decode(uncached(target), uncached(draft), prompt, uniforms=sources[i], **rest)
        assert nothing_kept.tokens == alone.tokens
    by_library = decode_batch(*generic, prompts, uniforms=sources, **rest)
    assert [r.tokens for r in by_library] == [r.tokens for r in batched]
    if graphs.supports(target, draft, case["warping"]):
        fixed = decode_batch(target, draft, prompts, uniforms=sources, fixed=True, **rest)
        assert [(r.tokens, r.blocks) for r in fixed] == [(r.tokens, r.blocks) for r in batched]
    ends = case["stop"] if callable(case["stop"]) else at_tokens(case["stop"])
    for run in batched:  # it ends at the first place it may, and nowhere else
        end = ends(run.tokens, 0)
        assert len(run.tokens) == (case["max_tokens"] if end is None else end)


def test_a_batch_that_mixes_up_its_rows_is_caught() -> None:
    (target, draft), _ = models(0)
    prompts, sources = [[1, 2], [3]], [keyed(0, 0), keyed(0, 1)]
    honest = [r.tokens for r in decode_batch(target, draft, prompts, max_tokens=12, gamma=3, uniforms=sources)]
    mixed = decode_batch(target, draft, prompts, max_tokens=12, gamma=3, uniforms=sources[::-1])
    assert [r.tokens for r in mixed] != honest


@pytest.mark.parametrize("warping", [Warping(), Warping(0), Warping(0.7, top_k=2, top_p=0.9, min_p=0.05)])
def test_a_fixed_cycle_reads_nothing_back(warping: Warping, monkeypatch: pytest.MonkeyPatch) -> None:
    """On meta tensors, which hold no values, any look at one fails: a GPU could capture this cycle."""
    target, draft = (from_hf(tiny_llama(VOCAB, seed=s).to("meta")) for s in (0, 1))
    made = fixed.made(target, draft, 2, warping, tokenwise, pick, 64)
    texts = torch.zeros(2, 3, dtype=torch.int64, device="meta")
    u = torch.zeros(2, 7, dtype=torch.float64, device="meta")
    assert fixed.cycle(made, 3, texts, u).shape == (2, 12)

    def peeking(weights: Any, seen: Any, new: Any, place: Any, tokens: Tensor, rows: int) -> Tensor:
        bool(tokens.sum() > 0)
        return tokens

    monkeypatch.setattr(llama, "forward", peeking)
    with pytest.raises((RuntimeError, NotImplementedError)):
        fixed.cycle(made, 3, texts, u)


def test_fixed_shapes_are_refused_where_they_cannot_be() -> None:
    (target, draft), generic = models(0)
    options = {"max_tokens": 3, "gamma": 1, "uniforms": [keyed(0, 0)], "fixed": True}
    with pytest.raises(ValueError, match="fixed: these models or this warping cannot run in fixed shapes"):
        decode_batch(*generic, [[1]], **options)
    with pytest.raises(ValueError, match="fixed: these models or this warping"):
        decode_batch(target, draft, [[1]], warping=Warping(repetition_penalty=1.1), **options)


def test_joint_law_of_a_batch() -> None:
    """Both texts of a batch, forked together: the law is the product of the target's laws."""
    target, draft = (from_hf(tiny_llama(2, seed=s, dtype=torch.float64)) for s in (0, 1))
    prompts, law = [[0, 1], [1]], {}

    def program(fork: rational.Fork) -> list[Decoded]:
        class Rule:
            prepare = staticmethod(lambda p, q: tokenwise.prepare(exact(p), exact(q)))
            uniforms = staticmethod(tokenwise.uniforms)

            @staticmethod
            def verify(plan: Any, drafts: Any, u: Any) -> tuple[Any, ...]:
                return tuple(w.astype(np.int64) for w in tokenwise.verify(plan, drafts, fork.uniforms(*u.shape)))

        return decode_batch(
            target,
            draft,
            prompts,
            max_tokens=TEXT,
            gamma=1,
            rule=Rule,
            uniforms=[lambda position, count: torch.zeros(count, dtype=torch.float64)] * 2,
            draw=lambda rows, u: torch.tensor(pick(exact(rows), fork.uniforms(*u.shape)).tolist()),
        )

    for runs, weight in rational.runs(program):
        key = tuple(token for run in runs for token in run.tokens)
        law[key] = law.get(key, 0.0) + float(weight)
    one, two = (text_law(lambda x: full_logits(target, torch.tensor(x)), p, 2, Warping()) for p in prompts)
    assert difference(law, {a + b: x * y for a, x in one.items() for b, y in two.items()}) < 1e-10


ARCHITECTURES = {"llama": tiny_llama, "qwen2": tiny_qwen2, "qwen3": tiny_qwen3, "gpt2": tiny_gpt2, "opt": tiny_opt}


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_greedy_identity(name: str, fast: bool) -> None:
    """Speculation changes nothing at temperature 0, in float32; neither does the path, nor Hugging Face's own loop."""
    plain = ARCHITECTURES[name](VOCAB, seed=3)
    target, draft = from_hf(plain, fast=fast), from_hf(ARCHITECTURES[name](VOCAB, seed=4), fast=fast)
    greedy, prompt = Warping(temperature=0), [1, 2, 3]
    texts = [
        decode(target, draft, prompt, max_tokens=40, gamma=g, uniforms=keyed(0, 0), warping=greedy).tokens
        for g in (0, 1, 4)
    ]
    assert texts[0] == texts[1] == texts[2]
    own = plain.generate(torch.tensor([prompt]), max_new_tokens=40, do_sample=False, pad_token_id=0)
    assert own[0, 3:].tolist() == texts[0]


@pytest.fixture(scope="module")
def pair() -> real.Pair:
    torch.set_num_threads(1)
    return real.load(TINY / "target", TINY / "draft")


def test_generate_is_decode_with_words(pair: real.Pair) -> None:
    prompts = ["def main():\n", "import os\n\n", "class A"]
    each = [pair.generate(p, max_tokens=24, seed=3, first_key=i) for i, p in enumerate(prompts)]
    together = pair.generate(prompts, max_tokens=24, seed=3)
    shard = pair.generate(prompts[1:], max_tokens=24, seed=3, first_key=1)
    assert [r.tokens for r in together] == [r.tokens for r in each]
    assert [r.text for r in shard] == [r.text for r in each[1:]]
    ids = pair.tokenizer(prompts[0]).input_ids
    again = decode(pair.target, pair.draft, ids, max_tokens=24, gamma=4, uniforms=keyed(3, 0), stop=pair.stopping())
    assert again.tokens == each[0].tokens
    assert pair.tokenizer.decode(ids + again.tokens) == prompts[0] + each[0].text


def test_score_predicts_and_refuses(pair: real.Pair) -> None:
    text = pair.generate("def main():\n", max_tokens=40, seed=1).text
    found = pair.score(text, prompt="def main():\n")
    assert 1 < found.tau(1) < found.tau(4) < 5
    assert len(pair.score(text).p) == len(pair.tokenizer(text).input_ids) - 1
    with pytest.raises(ValueError, match="text has no token to score"):
        pair.score("")
    with pytest.raises(ValueError, match="stream takes one prompt, got 2"):
        pair.generate(["a", "b"], stream=print)
    with pytest.raises(ValueError, match=r"stop\[1\] is an empty string"):
        stopping(pair.tokenizer, ["x", ""])
    with pytest.raises(ValueError, match="prompt is empty"):
        pair.generate("")
    with pytest.raises(ValueError, match="token 0 of the text has probability 0 under the target"):
        pair.score("zebra crossing", prompt="def main", warping=Warping(0)).tau(4)
    with pytest.raises(ValueError, match="gamma must be at least 0, got -1"):
        pair.score(text, prompt="def main():\n").tau(-1)
    with pytest.raises(ValueError, match="target has a context of 512"):
        pair.score("x = 1\n" * 400)
    with pytest.raises(ValueError, match="prompt must be a text or a list of texts, at least one"):
        pair.generate([])
    for stop in ("END", [5]):
        with pytest.raises(TypeError, match="stop must be a list of strings"):
            pair.generate("a", stop=stop)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"warping must be a real.Warping, got dict"):
        pair.generate("a", warping={"temperature": 0})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="device 'meta' cannot be used"):
        real.load(TINY / "target", TINY / "draft", device="meta")


def test_tokens_of_a_generation_are_scored_as_they_are(pair: real.Pair) -> None:
    run = pair.generate("def main():\n", max_tokens=40, seed=1)
    assert len(pair.score(run.tokens, prompt="def main():\n").p) == len(run.tokens)
