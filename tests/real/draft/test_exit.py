"""An early exit: a language model of the target's first layers, trained by the code that runs it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from helpers.small_drafters import block
from helpers.tiny_models import tiny_gemma2, tiny_llama, tiny_qwen3

from real import TINY, load
from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.draft import exit
from real.models.model import LanguageModel, from_hf, full_logits, full_states

MAKERS = {"llama": tiny_llama, "qwen3": tiny_qwen3}


def target(kind: str = "llama", layers: int = 3, **options: Any) -> LanguageModel:
    return from_hf(MAKERS[kind](8, layers=layers, dtype=torch.float64, **options))


def by_hand(model: LanguageModel, net: exit.Block, after: int, tokens: torch.Tensor) -> torch.Tensor:
    """Logits of an exit, from the target's states: attention by loops, with rope by complex numbers."""
    weights = model.weights
    assert weights is not None
    net = net.double()
    x = full_states(model, tokens, (after,))[1][:, 0]

    def normed(v: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return v / (v.square().mean(-1, keepdim=True) + weights.eps).sqrt() * scale

    dim = weights.cos.shape[-1]
    q, k, v = (normed(x, net.norm_in) @ net.qkv.T).view(len(x), 3, weights.heads, dim).unbind(1)

    cos, sin = (table[: len(x), 0, dim // 2 :][:, None] for table in (weights.cos, weights.sin))

    def turned(w: torch.Tensor) -> torch.Tensor:
        both = torch.complex(w[..., : dim // 2], w[..., dim // 2 :]) * torch.complex(cos, sin)
        return torch.cat([both.real, both.imag], -1)

    q, k, out = turned(q), turned(k), torch.zeros_like(x)
    for i in range(len(x)):
        for h in range(weights.heads):
            share = (k[: i + 1, h] @ q[i, h] / dim**0.5).softmax(-1)
            out[i] += net.out[:, h * dim : (h + 1) * dim] @ (share @ v[: i + 1, h])
    return F.linear(normed(x + out, net.norm * weights.norm), weights.head)


@pytest.mark.parametrize("after", [0, 1, 2])
def test_what_it_is(after: int) -> None:
    """First layers, one attention block with two norms and no feed-forward part, the target's head."""
    model, tokens = target(), torch.tensor([3, 1, 4, 1, 5, 2, 6])
    with torch.no_grad():
        found = full_logits(exit.model_of(model, block(), after), tokens)
        torch.testing.assert_close(found, by_hand(model, block(), after, tokens), atol=1e-10, rtol=0)


@pytest.mark.parametrize("after", [0, 2])
def test_what_is_trained_is_what_runs(after: int) -> None:
    """From cached states of whole texts as from tokens one by one."""
    model, tokens = target(), torch.tensor([[3, 1, 4, 1, 5], [2, 7, 1, 0, 2]])
    net = block().double()
    states = torch.stack([full_states(model, row, (after,))[1][:, 0] for row in tokens])
    weights = exit._checked_weights(model, after, net)
    trained = F.linear(exit.on_states(weights, net, states), weights.head)
    small = exit.model_of(model, net, after)
    cache = small.cache()
    for i in range(5):
        one = cache.forward(tokens[:1, i : i + 1], 1)[0, 0]
        torch.testing.assert_close(trained[0, i], one, atol=1e-10, rtol=0)
    trained.sum().backward()
    assert all(w.grad is not None and w.grad.abs().max() > 0 for w in net.parameters())


@pytest.mark.parametrize("kind", MAKERS)
def test_no_law_depends_on_later_tokens(kind: str) -> None:
    model = target(kind)
    small = exit.model_of(model, block(), 1)
    one, other = (full_logits(small, torch.tensor(text)) for text in ([3, 1, 4, 1, 5], [3, 1, 4, 7, 5]))
    assert torch.equal(one[:3], other[:3])
    assert (one[3] - other[3]).abs().max() > 1e-3


@pytest.mark.parametrize("weights", [None, "int8", "int4"])
def test_the_parameters_of_an_exit_are_its_own(weights: str | None) -> None:
    """By hand: layers of four matrices and two norms, then the block; the tables of the target are not counted."""
    pair = load(TINY / "target", weights=weights)
    hidden, ffn = 256, 704
    layer = 4 * hidden**2 + 3 * hidden * ffn + 2 * hidden
    block = 4 * hidden**2 + 2 * hidden
    for after in (0, 2):
        small = exit.model_of(pair.target, *exit.shipped(f"exit_{after}"))
        assert small.parameters == after * layer + block


def test_wrong_exits_are_refused() -> None:
    told: dict[str, Any] = {"max_tokens": 4, "gamma": 2, "uniforms": [keyed(0, 0)]}

    def decode(model: LanguageModel, after: int) -> None:
        decode_batch(model, None, [[1, 2]], proposer=exit.drafter(block(), after), **told)

    decode(target(), 2)
    for after in (3, -1):
        with pytest.raises(ValueError, match=f"^after={after} is no exit: the target has 3 layers"):
            decode(target(), after)
    with pytest.raises(ValueError, match=r"^the exit reads states of width 8, and the target's have 16"):
        decode(target(hidden=16), 1)
    with pytest.raises(ValueError, match=r"^an exit needs a target on the fast path"):
        decode(from_hf(tiny_gemma2(8, 4, dtype=torch.float64)), 1)


@pytest.mark.parametrize("name", [name for name in exit.RECIPES if "/" not in name])
def test_what_is_shipped_drafts(name: str) -> None:
    """It keeps the greedy text of the bundled target, and more drafts than chance."""
    pair = load(TINY / "target", TINY / "draft")
    prompts = [list(pair.tokenizer(words)["input_ids"]) for words in ("def read(self", "The value of", "import os\n")]
    told: dict[str, Any] = {"max_tokens": 24, "uniforms": [keyed(0, i) for i in range(3)], "warping": Warping(0)}
    net = exit.shipped(name)
    assert net.after == int(name[-1])
    plain = decode_batch(pair.target, None, prompts, gamma=0, **told)
    drafted = decode_batch(pair.target, None, prompts, gamma=2, proposer=exit.drafting(net, pair.target), **told)
    assert [run.tokens for run in drafted] == [run.tokens for run in plain]
    assert sum(len(run.blocks) for run in drafted) < 0.85 * 3 * 24
