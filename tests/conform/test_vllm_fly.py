"""The adapter of vLLM's FLy (T52): the law of the engine's own function is ours; a stand-in shows how it is asked."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction as F
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specsim.conform import registry
from specsim.conform.adapters import vllm
from specsim.exact.small_laws import rational_laws
from specsim.types import Array
from specsim.verify.chain import tokenwise
from specsim.verify.lossy import fly

torch = pytest.importorskip("torch")

LAWS = rational_laws(3, 4)
FILES = {
    "metadata": "from types import SimpleNamespace as SamplingMetadata\n",
    "logits_processor": "LogitsProcessors = list\n",
    # FLy as vLLM's documentation has it, with the arguments of its function.
    "rejection_sampler": """
import os

import torch

# Triton reads it when kernels are decorated.
assert os.environ["TRITON_INTERPRET"] == "1"


def generate_uniform_probs(count, *others):
    return torch.rand(count, dtype=torch.float64)


def sample_recovered_tokens(most, counts, ends, drafts, laws, target, *others):
    raise AssertionError("the adapter draws")


def rejection_sample(
    draft_token_ids, num_draft_tokens, max_spec_len, cu_num_draft_tokens, draft_probs, target_logits, bonus_token_ids,
    sampling_metadata, fly_window_size=None, fly_entropy_threshold=None, fly_entropy_top_k=3,
):
    (count,), target = num_draft_tokens, target_logits.softmax(-1)
    assert (max_spec_len, cu_num_draft_tokens.tolist()) == (count, [count])
    u = generate_uniform_probs(count, num_draft_tokens, {}, None)
    recovered = sample_recovered_tokens(
        max_spec_len, num_draft_tokens, cu_num_draft_tokens, draft_token_ids, draft_probs, target, sampling_metadata
    )
    places = torch.arange(count), draft_token_ids.long()
    drafted = target[places]
    passed = drafted >= u * (1 if draft_probs is None else draft_probs[places])
    top = target.topk(min(fly_entropy_top_k, target.shape[-1])).values
    entropy = -torch.where(top > 0, top * top.log(), 0 * top).sum(-1)
    kept = 0
    while kept < count:
        window = passed[kept + 1 : kept + 1 + fly_window_size]
        is_deferred = len(window) == fly_window_size and bool(window.all()) and drafted[kept] > 0
        if not passed[kept] and not (is_deferred and entropy[kept] >= fly_entropy_threshold):
            break
        kept += 1
    end = recovered[kept] if kept < count else bonus_token_ids[0, 0]
    tokens = [*draft_token_ids[:kept].tolist(), int(end)]
    return torch.tensor([tokens + [-1] * (count - kept)])
""",
}


@pytest.fixture
def sampler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The sampler of a package that is no vLLM, but is asked as vLLM is."""
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "vllm"}
    for name in before:
        del sys.modules[name]
    folder = tmp_path / "vllm" / "v1" / "sample"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(metadata, "version", lambda distribution: "0.33.0")
    for name in ("TRITON_INTERPRET", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.setenv(name, "")
    registry.subjects_of(registry.find("vllm"))
    yield sys.modules["vllm.v1.sample.rejection_sampler"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "vllm"]:
        del sys.modules[name]
    sys.modules.update(before)


def cuts(weights: list[F]) -> list[F]:
    """Where the token of a coin on [0, 1) changes."""
    return [sum(weights[:k], F(0)) / sum(weights) for k in range(len(weights) + 1)] if sum(weights) else []


def law(run: Callable[..., list[int]], p: Array, q: Array, drafts: list[int], takes_q: bool) -> Array:
    """The joint law of (number kept, next token), from one call in each box of coins."""
    gamma = len(drafts)
    found = np.full((gamma + 1, p.shape[-1]), F(0))
    logits, rows = (torch.log(torch.tensor(w.astype(float), dtype=torch.float32)) for w in (p, q))
    tests = [{F(0), min(F(1), p[i][x] / q[i][x]), F(1)} for i, x in enumerate(drafts)]
    left = [[max(a - b, F(0)) for a, b in zip(*pair, strict=True)] for pair in zip(p[:-1], q, strict=True)]
    last = {F(0), F(1)}.union(*(cuts(row) for row in [*left, list(p[-1])]))
    for box in itertools.product(*(itertools.pairwise(sorted(ends)) for ends in [*tests, last])):
        middle = torch.tensor([float(low + high) / 2 for low, high in box], dtype=torch.float32)
        tokens = run(logits, rows if takes_q else None, torch.tensor(drafts), middle)
        assert tokens[:-1] == drafts[: len(tokens) - 1]
        found[len(tokens) - 1, tokens[-1]] += np.prod([high - low for low, high in box])
    return found


def disagreements(sampler: Any, count: int, **instead: Any) -> tuple[int, int]:
    """(Laws that are not ours, laws that are not `tokenwise`) of blocks of two or three drafts."""
    rule, rng = registry.find("vllm").rule, np.random.default_rng(52)
    others = lossy = 0
    for k in range(count):
        gamma, takes_q = 2 + k % 2, bool(k % 3)
        p = LAWS[rng.integers(len(LAWS), size=gamma + 1)]
        q = LAWS[rng.integers(len(LAWS), size=gamma)] if takes_q else LAWS[[-1, 0, 4]][:gamma]
        drafts = [int(rng.choice(np.flatnonzero(row))) for row in q]
        if not takes_q:
            q = np.array([[F(int(v == x)) for v in range(3)] for x in drafts])
        options = {
            "fly_window_size": int(rng.integers(1, gamma)),
            "fly_entropy_threshold": float(rng.choice([0.3, 0.7, 1.0])),
            "fly_entropy_top_k": int(rng.integers(1, 4)),
        }
        wanted = fly.transition(fly.prepare(p, q, **options | instead), np.array(drafts))
        others += bool((law(rule(sampler, options), p, q, drafts, takes_q) != wanted).any())
        lossy += bool((tokenwise.transition(tokenwise.prepare(p, q), np.array(drafts)) != wanted).any())
    return others, lossy


def test_the_stand_in_has_the_law_of_fly(sampler: Any) -> None:
    others, lossy = disagreements(sampler, 18)
    assert others == 0
    assert lossy >= 2


def test_another_law_would_be_seen(sampler: Any) -> None:
    assert disagreements(sampler, 9, fly_entropy_threshold=9)[0] > 0


def test_the_subjects_are_lossy_and_leave_the_sampler_as_it_was(sampler: Any) -> None:
    before = sampler.generate_uniform_probs, sampler.sample_recovered_tokens
    subjects = registry.subjects_of(registry.find("vllm"))
    assert [(one.lossless, one.takes_q, one.sizes) for one in subjects] == [
        (False, True, (2, 3)),
        (False, False, (2, 3)),
    ]
    assert [one.note for one in subjects] == [vllm.CAVEAT] * 2
    p = torch.log(torch.tensor([[0.5, 0.5]] * 3))
    # The first draft fails, and is deferred, as the second passes; the bonus is at the last coin.
    for last, token in ((0.25, 0), (0.75, 1)):
        drafts, coins = torch.tensor([0, 1]), torch.tensor([0.75, 0.25, last])
        assert subjects[1].run(p, None, drafts, coins) == [0, 1, token]
    # Where the target is nearly sure, its entropy is below the default: nothing is deferred.
    peaked = torch.log(torch.tensor([[0.95, 0.05]] * 3))
    assert subjects[1].run(peaked, None, torch.tensor([1, 0]), torch.tensor([0.75, 0.25, 0.5])) == [0]
    assert (sampler.generate_uniform_probs, sampler.sample_recovered_tokens) == before


@pytest.mark.parametrize(("law", "coin", "token"), [([0.0, 1.0], 0.0, 1), ([1.0, 3.0], 0.25, 1), ([0.0] * 3, 0.5, 0)])
def test_a_coin_draws_no_token_without_mass(law: list[float], coin: float, token: int) -> None:
    """At coins of zero and at an edge; where nothing is left, as at p = q, it is still a token."""
    assert vllm._pick(torch.tensor(law), torch.tensor(coin)) == token


def test_a_vllm_without_fly_is_named(sampler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "rejection_sample", lambda draft_token_ids: None)
    with pytest.raises(ImportError, match=r"^vllm 0\.33\.0 has no FLy: pip install vllm==0\.33\.0$"):
        registry.subjects_of(registry.find("vllm"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of what vLLM imports
def test_vllm_has_the_law_of_fly() -> None:
    """The engine's own function, run by Triton's interpreter, where vllm is installed."""
    found = registry.subjects_or_reason(registry.find("vllm"))
    if isinstance(found, str) or found[0].note.startswith("version"):
        pytest.skip(found if isinstance(found, str) else found[0].note)
    others, lossy = disagreements(sys.modules["vllm.v1.sample.rejection_sampler"], 40)
    assert others == 0
    assert lossy >= 5
