"""lmdeploy: the portable rejection sampler of its PyTorch engine; one row of noise serves all positions of a block."""

from __future__ import annotations

from typing import Any

from specsim.conform.adapters._installed import bare, note
from specsim.conform.subject import Subject

DISTRIBUTION = "lmdeploy"
VERSIONS = "==0.18.0"
KIND = "chain"
ENTRY = "lmdeploy.pytorch.backends.default.rejection_sampling.DefaultRejectionSamplingImpl"
NEEDS = ("torch",)
LICENCE = "Apache-2.0"


def subjects() -> list[Subject]:
    """Drafts with laws and without; the bonus is the caller's, drawn before."""
    said = note(DISTRIBUTION, VERSIONS)
    import torch

    file, _, name = ENTRY.rpartition(".")
    sampler = getattr(bare(file), name)()

    def batch(p: Any, q: Any, drafts: Any) -> Any:
        bonus = torch.multinomial(torch.softmax(p[:, -1], -1), 1)[:, 0]
        laws = None if q is None else torch.softmax(q, -1)
        tokens, _, _ = sampler.forward(p[:, :-1], drafts, bonus, is_greedy=None, draft_probs=laws)
        return tokens

    def one(p: Any, q: Any, drafts: Any) -> Any:
        return batch(p[None], None if q is None else q[None], drafts[None])[0]

    whole = Subject(
        f"{ENTRY}.forward",
        "chain",
        one,
        "torch",
        "float32",
        "global",
        returns="tokens",
        logits=True,
        batch=batch,
        note=said,
    )
    return [whole, whole._replace(name=f"{ENTRY}.forward, one-hot drafts", takes_q=False)]
