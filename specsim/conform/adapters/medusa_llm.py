"""medusa-llm: typical acceptance over candidates of its heads, lossy above temperature 0 as its paper says."""

from __future__ import annotations

from typing import Any

from specsim.conform.adapters._installed import module, note
from specsim.conform.subject import SamplingParams, Subject

DISTRIBUTION = "medusa-llm"
VERSIONS = "==0.1"
KIND = "chain"
ENTRY = "medusa.model.utils.evaluate_posterior"
NEEDS = ("torch",)
LICENCE = "Apache-2.0"


def subjects() -> list[Subject]:
    """Return one path of candidates, with the thresholds of `medusa_generate`; its next token is the likeliest."""
    caveat = note(DISTRIBUTION, VERSIONS, "there is no top-k and no top-p")
    import torch

    evaluate_posterior = module("medusa.model.utils").evaluate_posterior

    def run(p: Any, q: None, drafts: Any, *, sampling_params: SamplingParams) -> tuple[int, int]:
        """Return the number of accepted drafts, and the likeliest token after them."""
        candidates = torch.cat([torch.zeros(1, dtype=torch.long), drafts])[None]
        _, num_accepted = evaluate_posterior(p[None], candidates, sampling_params.temperature, 0.09, 0.3)
        return int(num_accepted), int(p[int(num_accepted)].argmax())

    return [
        Subject(
            ENTRY, "chain", run, "torch", lossless=False, takes_q=False, logits=True, warps=True, note=caveat
        )._replace(dtype="float32", randomness="global")
    ]
