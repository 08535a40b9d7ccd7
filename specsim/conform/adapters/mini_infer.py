"""mini-infer: one round of its speculative decoder, which drafts and verifies."""

from __future__ import annotations

from typing import Any

from specsim.conform.adapters._installed import module, note
from specsim.conform.adapters._rows import beginning, language_model
from specsim.conform.subject import Model, SamplingParams, Subject

DISTRIBUTION = "mini-infer"
VERSIONS = "==0.2.5"
KIND = "decoder"
ENTRY = "mini_infer.speculative.verifier.speculative_step"
NEEDS = ("torch", "safetensors")
LICENCE = "Apache-2.0"


def subjects() -> list[Subject]:
    """Return its round, continued by the target."""
    caveat = note(DISTRIBUTION, VERSIONS, "top-k and top-p are the adapter's: the function has none")
    step = module("mini_infer.speculative.verifier").speculative_step

    def block(target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams) -> list[int]:
        """Return the tokens of one round."""
        p, q = (language_model(model, sampling_params) for model in (target, draft))
        tokens, _ = step(
            lambda ids: (p(ids), None),
            lambda ids: (q(ids), None),
            beginning(prompt),
            n - 1,
            sampling_params.temperature,
        )
        return list(tokens)

    return [Subject(ENTRY, "decoder", block, "torch", "float32", "global", warps=True, block=True, note=caveat)]
