"""sglang: its chain sampler, token by token and by blocks; uniforms are arguments, Triton's interpreter runs it."""

from __future__ import annotations

from functools import partial
from typing import Any

from specsim.conform.adapters._installed import interpreted, note
from specsim.conform.subject import Subject

DISTRIBUTION = "sglang"
VERSIONS = "==0.5.23"
KIND = "chain"
ENTRY = "sglang.kernels.ops.speculative.reject_sampling.chain_speculative_sampling_triton"
NEEDS = ("torch", "triton")
LICENCE = "Apache-2.0"


def subjects() -> list[Subject]:
    """Both modes, on laws; the first of its slots is the last token of the text, which is never read."""
    said = note(DISTRIBUTION, VERSIONS, "run by Triton's interpreter")
    file, _, name = ENTRY.rpartition(".")
    sample = getattr(interpreted(file), name)
    chain = Subject(ENTRY, "chain", partial(_one, sample, False), "torch", "float32", "coins", returns="tokens")
    chain = chain._replace(sizes=(1, 2), batch=partial(_batch, sample, False), note=said)
    blocks = chain._replace(run=partial(_one, sample, True), batch=partial(_batch, sample, True))
    return [chain, blocks._replace(name=f"{ENTRY}, block_verification=True")]


def _one(sample: Any, blocks: bool, p: Any, q: Any, drafts: Any, u: Any) -> Any:
    return _batch(sample, blocks, p[None], q[None], drafts[None], u[None])[0]


def _batch(sample: Any, blocks: bool, p: Any, q: Any, drafts: Any, u: Any) -> Any:
    import torch

    rows, slots, _ = p.shape
    written = torch.full((rows * slots,), -1, dtype=torch.int32)
    accepted = torch.full((rows, slots), -1, dtype=torch.int32)
    kept = torch.zeros(rows, dtype=torch.int32)
    sample(
        written,
        accepted,
        kept,
        torch.nn.functional.pad(drafts, (1, 0)),
        torch.arange(rows * slots).reshape(rows, slots),
        None,
        None,
        u[:, :-1].contiguous(),
        u[:, -1].contiguous(),
        p.contiguous(),
        q.contiguous(),
        1.0,
        1.0,
        True,
        block_verification=blocks,
    )
    tokens = written.reshape(rows, slots).long()
    return torch.where(torch.arange(slots) <= kept[:, None], tokens, -1)
