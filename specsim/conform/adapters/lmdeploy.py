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
    """Return its sampler with laws of the draft and without, and greedy rows alone and among others."""
    # The bonus is the caller's, drawn before.
    caveat = note(DISTRIBUTION, VERSIONS)
    import torch

    file, _, name = ENTRY.rpartition(".")
    sampler = getattr(bare(file), name)()

    # The calls that are judged: sampled rows, rows of one kind, and rows of both kinds.
    def drawn(p: Any) -> Any:
        """Return a bonus token drawn for every row."""
        return torch.multinomial(torch.softmax(p[:, -1], -1), 1)[:, 0]

    def batch(p: Any, q: Any, drafts: Any) -> Any:
        """Verify a batch of sampled rows."""
        laws = None if q is None else torch.softmax(q, -1)
        tokens, _, _ = sampler.forward(p[:, :-1], drafts, drawn(p), is_greedy=None, draft_probs=laws)
        return tokens

    def apart(p: Any, q: Any, drafts: Any, *, sampling_params: SamplingParams) -> Any:
        """Verify a batch of one kind of rows, as the engine does."""
        if sampling_params.temperature == 0:
            answer = sampler.forward_greedy(p.argmax(-1), drafts)
            return answer[0]
        return batch(warm(p, sampling_params), warm(q, sampling_params), drafts)

    def among(p: Any, q: Any, drafts: Any, *, sampling_params: SamplingParams) -> Any:
        """Verify rows beside ones of the other kind, greedy or drawn, and return those that were asked for.

        The other rows are certain of the target's likeliest tokens: drawn ones would have paths of
        their own.
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
        """Return the subject of a function of batches."""

        def run_one(p: Any, q: Any, drafts: Any, **named: Any) -> Any:
            """Verify a batch of one row."""
            rows = run(p[None], None if q is None else q[None], drafts[None], **named)
            return rows[0]

        subject = Subject(
            f"{ENTRY}.{name}", "chain", run_one, "torch", "float32", "global", returns="tokens", logits=True
        )
        return subject._replace(batch=run, note=caveat)

    # The calls as subjects.
    whole = chain("forward", batch)
    applied = "; ".join(filter(None, [caveat, "sampling parameters are the adapter's: the engine applies them before"]))
    return [
        whole,
        whole._replace(name=f"{ENTRY}.forward, one-hot drafts", takes_q=False),
        chain("forward, or forward_greedy", apart)._replace(warps=True, sizes=(1, 2), note=applied),
        chain("forward, greedy rows among others", among)._replace(warps=True, sizes=(1, 2), note=applied),
    ]
