"""transformers: its rule for sampled blocks, `generate` with drafts, and what two generators of candidates propose."""

from __future__ import annotations

from typing import Any

from specsim.conform.adapters import _generate
from specsim.conform.adapters._installed import module, note
from specsim.conform.subject import Subject

DISTRIBUTION = "transformers"
VERSIONS = "==5.23.0"
KIND = "chain"
ENTRY = "transformers.generation.utils._speculative_sampling"
NEEDS = ("torch",)
LICENCE = "Apache-2.0"


def subjects() -> list[Subject]:
    """The rule: with a law of the draft, with a draft that has none, and with the ensemble weight, which is lossy."""
    said = note(DISTRIBUTION, VERSIONS)
    sample = module("transformers.generation.utils")._speculative_sampling

    def sampled(p: Any, q: Any, drafts: Any, **more: Any) -> list[int]:
        tokens, _ = sample(drafts[None], q[None], len(drafts), p[None], **more)
        return [int(x) for x in tokens[0]]

    def looked_up(p: Any, q: None, drafts: Any) -> list[int]:
        import torch

        one_hot = torch.nn.functional.one_hot(drafts, p.shape[-1])
        return sampled(p, torch.log(one_hot.to(p.dtype)), drafts)

    def ensemble(p: Any, q: Any, drafts: Any) -> list[int]:
        return sampled(p, q, drafts, assistant_ensemble_weight=0.7)

    whole = Subject(ENTRY, "chain", sampled, "torch", randomness="global", returns="tokens", logits=True, note=said)
    return [
        whole,
        whole._replace(name=f"{ENTRY}, one-hot drafts", run=looked_up, takes_q=False),
        whole._replace(name=f"{ENTRY}, assistant_ensemble_weight=0.7", run=ensemble, lossless=False),
        *_whole(said),
    ]


def _whole(said: str) -> list[Subject]:
    """End to end, on tables that are PreTrainedModels."""
    place = "transformers.generation"
    decoder = Subject("", "decoder", _generate.assisted, "torch", "float32", "global", sizes=(1, 2), warps=True)
    drafter = decoder._replace(kind="drafter", note=said)
    return [
        decoder._replace(name="transformers generate(assistant_model=...)", note=said),
        decoder._replace(
            name="transformers generate(prompt_lookup_num_tokens=...)",
            run=_generate.looked_up,
            note=said,
        ),
        drafter._replace(name=f"{place}.AssistedCandidateGenerator", run=_generate.assistant_drafts),
        drafter._replace(
            name=f"{place}.SinglePositionMultiTokenCandidateGenerator",
            run=_generate.single_position_drafts,
            warps=False,
        ),
    ]
