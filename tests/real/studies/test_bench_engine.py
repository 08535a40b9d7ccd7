"""The benchmark against transformers compares like with like; its times are not looked at."""

from __future__ import annotations

from collections.abc import Iterator

import bench_engine as bench
import pytest
import torch
from transformers import GenerationConfig
from transformers.utils import logging

TOKENS, PROMPT = 8, list(range(40, 60))


@pytest.fixture(autouse=True)
def _state_restored() -> Iterator[None]:
    level = logging.get_verbosity()
    with torch.random.fork_rng(devices=[]):
        yield
    logging.set_verbosity(level)


@pytest.fixture(scope="module")
def pair() -> bench.Models:
    return bench.models()


def both(pair: bench.Models, temperature: float, gamma: int) -> tuple[bench.Run, bench.Run]:
    ((runs,),) = bench.measure(pair, [PROMPT], bench.Setting(temperature, gamma, TOKENS), repeats=1)
    return runs


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("gamma", [0, 1, 3])
def test_both_write_as_many_tokens_with_gamma_drafts_a_call(pair: bench.Models, temperature: float, gamma: int) -> None:
    for run in both(pair, temperature, gamma):
        assert len(run.tokens) == TOKENS
        assert len(run.calls) <= TOKENS
        assert gamma or len(run.calls) == TOKENS
        assert run.calls[0] == (len(PROMPT), gamma)
        assert all(drafted == min(gamma, len(PROMPT) + TOKENS - before - 1) for before, drafted in run.calls)


@pytest.mark.parametrize("gamma", [0, 3])
def test_greedy_tokens_and_calls_are_the_same(pair: bench.Models, gamma: int) -> None:
    theirs, ours = both(pair, 0.0, gamma)
    assert theirs.tokens == ours.tokens
    assert theirs.calls == ours.calls


def test_an_unfair_setting_is_noticed(pair: bench.Models, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "assistant_config", lambda gamma: GenerationConfig(num_assistant_tokens=gamma))
    with pytest.raises(AssertionError, match=r"drafts, not 3"):  # their own threshold ends a draft early
        both(pair, 1.0, 3)
    with pytest.raises(AssertionError, match=r"7 tokens, not 8"):
        bench.check(bench.Run([1] * 7, [], 0.0, 0.0), PROMPT, bench.Setting(1.0, 0, TOKENS))


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    bench.main(count=1, max_tokens=TOKENS, repeats=1, gamma=[2])
    shown = capsys.readouterr().out.splitlines()
    names = [row.split("  ")[0] for row in shown if row.startswith(("plain", "speculative"))]
    assert names == ["plain, sampled", "plain, greedy", "speculative, sampled", "speculative, greedy"]
    assert f"1 prompts, {TOKENS} new tokens each, 1 repeats" in shown[1]
    assert shown[-1].startswith("GB/s")
