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
    """Return both modes of its sampler, on laws."""
    # The first of its slots is the last token of the text, which is never read.
    caveat = note(DISTRIBUTION, VERSIONS, "run by Triton's interpreter")
    file, _, name = ENTRY.rpartition(".")
    sample = getattr(interpreted(file), name)
    chain = Subject(ENTRY, "chain", partial(_run, sample, False), "torch", "float32", "coins", returns="tokens")
    chain = chain._replace(sizes=(1, 2), note=caveat)
    return [chain, chain._replace(name=f"{ENTRY}, block_verification=True", run=partial(_run, sample, True))]


def _run(sample: Any, blocks: bool, p: Any, q: Any, drafts: Any, u: Any) -> list[int]:
    """Return the tokens of one row, a batch of one."""
    import torch

    # Buffers that it fills: the tokens, and the number of accepted drafts.
    slots = len(p)
    tokens = torch.full((slots,), -1, dtype=torch.int32)
    num_accepted = torch.zeros(1, dtype=torch.int32)
    sample(
        tokens,
        torch.full((1, slots), -1, dtype=torch.int32),
        num_accepted,
        torch.nn.functional.pad(drafts, (1, 0))[None],
        torch.arange(slots)[None],
        None,
        None,
        u[None, :-1].contiguous(),
        u[-1:].contiguous(),
        p[None].contiguous(),
        q[None].contiguous(),
        1.0,
        1.0,
        True,
        block_verification=blocks,
    )
    return [int(x) for x in tokens[: int(num_accepted) + 1]]
