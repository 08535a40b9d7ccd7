"""lmdeploy: the portable rejection sampler of its PyTorch engine; one row of noise serves all positions of a block."""

from __future__ import annotations

from typing import Any

from specsim.conform.adapters._installed import bare, note
from specsim.conform.adapters._rows import warm
from specsim.conform.subject import SamplingParams, Subject

DISTRIBUTION = "lmdeploy"
VERSIONS = "==0.18.0"
KIND = "chain"
ENTRY = "lmdeploy.pytorch.backends.default.rejection_sampling.DefaultRejectionSamplingImpl"
NEEDS = ("torch",)
LICENCE = "Apache-2.0"


def subjects() -> list[Subject]:
    """Drafts with laws and without; greedy rows, alone and among others; the bonus is the caller's, drawn before."""
    said = note(DISTRIBUTION, VERSIONS)
    import torch

    file, _, name = ENTRY.rpartition(".")
    sampler = getattr(bare(file), name)()

    def drawn(p: Any) -> Any:
        return torch.multinomial(torch.softmax(p[:, -1], -1), 1)[:, 0]

    def batch(p: Any, q: Any, drafts: Any) -> Any:
        laws = None if q is None else torch.softmax(q, -1)
        tokens, _, _ = sampler.forward(p[:, :-1], drafts, drawn(p), is_greedy=None, draft_probs=laws)
        return tokens

    def apart(p: Any, q: Any, drafts: Any, *, sampling_params: SamplingParams) -> Any:
        """As the engine calls it for a batch of one kind."""
        if sampling_params.temperature == 0:
            return sampler.forward_greedy(p.argmax(-1), drafts)[0]
        return batch(warm(p, sampling_params), warm(q, sampling_params), drafts)

    def among(p: Any, q: Any, drafts: Any, *, sampling_params: SamplingParams) -> Any:
        """Beside every row is one of the other kind, greedy or drawn; those that were asked for are returned.

        The other rows are certain of the target's likeliest tokens, as drawn ones they would have paths of their own.
        """
        rows, greedy = len(drafts), sampling_params.temperature == 0
        hot = SamplingParams() if greedy else sampling_params
        logits, laws = warm(p, hot), torch.softmax(warm(q, hot), -1)
        certain = torch.full_like(p, -torch.inf).scatter_(-1, p.argmax(-1, keepdim=True), 0.0)
        first, second = (p, certain) if greedy else (certain, logits)
        tokens, _, _ = sampler.forward(
            torch.cat([first[:, :-1], second[:, :-1]]),
            torch.cat([drafts, drafts]),
            torch.cat([first[:, -1].argmax(-1), drawn(second)]),
            is_greedy=torch.arange(2 * rows) < rows,
            draft_probs=torch.cat([laws, laws]),
        )
        return tokens[:rows] if greedy else tokens[rows:]

    def chain(name: str, run: Any) -> Subject:
        def one(p: Any, q: Any, drafts: Any, **named: Any) -> Any:
            return run(p[None], None if q is None else q[None], drafts[None], **named)[0]

        made = Subject(f"{ENTRY}.{name}", "chain", one, "torch", "float32", "global", returns="tokens", logits=True)
        return made._replace(batch=run, note=said)

    whole = chain("forward", batch)
    applied = "; ".join(filter(None, [said, "sampling parameters are the adapter's: the engine applies them before"]))
    return [
        whole,
        whole._replace(name=f"{ENTRY}.forward, one-hot drafts", takes_q=False),
        chain("forward, or forward_greedy", apart)._replace(warps=True, sizes=(1, 2), note=applied),
        chain("forward, greedy rows among others", among)._replace(warps=True, sizes=(1, 2), note=applied),
    ]
