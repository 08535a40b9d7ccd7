"""The same cycle in fixed shapes: on a GPU it is captured once per speculation length and replayed as one graph.

Where a text stands is data, not shape: positions are a tensor, every text of the batch runs in every cycle, and what
a text that was not asked for writes lies beyond its end or repeats what is there. Nothing inside reads a value back,
so the host waits once a cycle, for the outcome. On a CPU the same function is simply called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from real.decode.cycle import Verifier, outcome
from real.decode.draft import Draw, readable
from real.decode.warp import Warping, probabilities
from real.models import llama
from real.models.model import LanguageModel, fit_logits
from real.models.store import layers


def supports(target: LanguageModel, draft: LanguageModel | None, warping: Warping) -> bool:
    """Whether a cycle can have fixed shapes: both models on the fast path, no memory of tokens seen, no bias.

    A graph keeps addresses, and the table of a bias may be dropped while the graph lives.
    """
    models = [target] if draft is None else [target, draft]
    fast = all(m.weights is not None for m in models)
    return fast and warping.repetition_penalty == 1 and not warping.logit_bias


class Graphs:
    """Cycles of fixed shapes, one for each speculation length; captured anew for each call of the decode loop.

    Parameters are those of `real.decode.cycle.Eager`, and `longest`, the number of positions that texts may reach.
    """

    def __init__(
        self,
        target: LanguageModel,
        draft: LanguageModel | None,
        batch: int,
        warping: Warping,
        rule: Verifier,
        draw: Draw,
        mark: Callable[[str], None],
        longest: int,
        gamma: int,
    ) -> None:
        self._models = {"target": target} | ({} if draft is None else {"draft": draft})
        self._caches = {name: model.cache(batch) for name, model in self._models.items()}
        for cache in self._caches.values():
            cache.reserve(longest + gamma + 1)  # texts that wait may run past their end
        self._sampling, self._rule, self._draw, self._mark = warping, rule, draw, mark
        self._sequences = torch.arange(batch, device=target.device)[:, None]
        self._replay: dict[int, Callable[[Tensor, Tensor, Tensor], Tensor]] = {}

    def read(self, i: int, text: list[int]) -> None:
        """Read the beginning of text i."""
        for name, model in self._models.items():
            tokens = torch.tensor([text], device=model.device)
            if text:
                self._caches[name].forward(readable(model, tokens), 0, [i])

    def run(self, texts: Sequence[list[int]], group: list[int], length: int, u: Tensor) -> list[list[int]]:
        """Draft and verify for the texts of a group; the others run along, and nothing comes of it."""
        device = self._sequences.device
        whole = u.new_zeros(len(texts), u.shape[1])
        whole[group] = u
        last = torch.tensor([[text[-2:][0], text[-1]] for text in texts], device=device)
        starts = torch.tensor([len(text) - 1 for text in texts], device=device)
        self._mark("host")
        if length not in self._replay:
            self._replay[length] = _captured(lambda *now: self._cycle(length, *now), (last, starts, whole))
        rows = self._replay[length](last, starts, whole).tolist()
        self._mark("verify")
        for i in group:
            self._caches["target"].lengths[i] = len(texts[i]) + length
        return [rows[i] for i in group]

    def rollback(self, i: int, length: int) -> None:
        """Forget positions of text i: the next cycle says where it stands."""
        self._caches["target"].rollback(i, length)

    def _cycle(self, length: int, last: Tensor, starts: Tensor, u: Tensor) -> Tensor:
        """One cycle for all texts: their last two tokens (b, 2), positions of the last (b,), uniforms (b, n)."""
        read, laws, tops = [last[:, 1:]], [], []
        # The draft reads two tokens first: after a block that was kept whole it has not seen the first of them.
        new, positions = last, torch.stack([(starts - 1).clamp(min=0), starts], 1)
        for k in range(length):
            logits = self._logits("draft", new, positions, 1)[:, 0]
            law = probabilities(logits, self._sampling)
            new = self._draw(law, u[:, k]).clamp(max=law.shape[-1] - 1)[:, None]
            tops.append(logits.amax(-1, keepdim=True))
            positions = (starts + k + 1)[:, None]
            read.append(new)
            laws.append(law)
        tokens = torch.cat(read, 1)
        positions = starts[:, None] + torch.arange(length + 1, device=starts.device)
        logits = self._logits("target", tokens, positions, length + 1)
        p = probabilities(logits, self._sampling)
        q = torch.stack(laws, 1) if laws else p[:, :0]
        kept, token = self._rule.verify(self._rule.prepare(p, q.to(p.dtype)), tokens[:, 1:], u[:, length:])
        largest = torch.cat([logits.amax(-1), *(top.to(logits.dtype) for top in tops)], 1)
        out: Tensor = outcome(kept, token, tokens[:, 1:], largest)
        return out

    def _logits(self, name: str, tokens: Tensor, positions: Tensor, rows: int) -> Tensor:
        model, kv = self._models[name], self._caches[name].kv
        weights = model.weights
        assert weights is not None  # `supports` was asked
        place = llama.ragged(weights, positions, self._sequences, kv.shape[4])
        new = [(k.transpose(1, 2), v.transpose(1, 2)) for k, v in layers(kv)]
        hidden = llama.forward(weights, layers(kv), new, place, readable(model, tokens), rows)
        return fit_logits(llama.linear(hidden, weights.head, weights.head_bias), model.vocab_size)


def _captured(
    function: Callable[..., Tensor], arguments: tuple[Tensor, ...]
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """The function as a graph that replays on new values of its arguments; on a CPU, the function itself."""
    function = torch.inference_mode()(function)
    if not arguments[0].is_cuda:
        return function
    held = tuple(x.clone() for x in arguments)
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # libraries set themselves up in the first calls, which cannot be captured
        for _ in range(3):
            function(*held)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = function(*held)

    def replay(*now: Tensor) -> Tensor:
        for mine, new in zip(held, now, strict=True):
            mine.copy_(new)
        graph.replay()
        return out

    return replay
