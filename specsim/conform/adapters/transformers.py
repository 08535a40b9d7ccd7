"""transformers: its rule for sampled blocks, `generate` with drafts, and what every generator of drafts proposes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from specsim.conform.adapters import _candidates, _generate, _universal
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
    whole = whole._replace(dtypes=("float32", "bfloat16"))
    return [
        whole,
        whole._replace(name=f"{ENTRY}, one-hot drafts", run=looked_up, takes_q=False),
        whole._replace(name=f"{ENTRY}, assistant_ensemble_weight=0.7", run=ensemble, lossless=False),
        *_whole(said),
    ]


def _whole(said: str) -> list[Subject]:
    """End to end, on tables that are PreTrainedModels, and what is drafted there."""
    decoder = Subject("", "decoder", _generate.assisted, "torch", "float32", "global", sizes=(1, 2), warps=True)
    decoder = decoder._replace(note=said)
    writes = decoder._replace(stops=True, masks=True, logprobs="raw")
    own = partial(_universal.generated, extra=True)
    found: list[tuple[str, Callable[..., Any]]] = [
        ("(assistant_model=...)", _generate.assisted),
        ("(prompt_lookup_num_tokens=...)", _generate.looked_up),
        ("(assistant_early_exit=1)", _generate.exits_early),
        ("(assistant_tokenizer=...), get_vocab() ordered by id", partial(own, ordered=True)),
        ("(assistant_tokenizer=...), get_vocab() in another order", partial(own, ordered=False)),
    ]
    whole = [writes._replace(name=f"transformers generate{words}", run=run) for words, run in found]
    return [*whole, *_drafters(decoder._replace(kind="drafter"))]


def _drafters(one: Subject) -> list[Subject]:
    """Every generator of candidates; those that take no sampling parameters are greedy."""
    place, universal = _candidates.FILE.rpartition(".")[0], "UniversalSpeculativeDecodingGenerator"
    drafts = partial(_universal.drafts, extra=True)
    taking: dict[str, Callable[..., Any]] = {
        "AssistedCandidateGenerator": _candidates.of_assistant,
        "EarlyExitCandidateGenerator": _candidates.of_early_exit,
        "MTPCandidateGenerator": _candidates.of_heads,
        "DFlashTokenCandidateGenerator": _candidates.of_diffusion,
        f"{universal}, get_vocab() ordered by id": partial(drafts, ordered=True),
        f"{universal}, get_vocab() in another order": partial(drafts, ordered=False),
        f"{universal}, nothing to prune": partial(_universal.drafts, extra=False, ordered=True),
    }
    greedy: dict[str, Callable[..., Any]] = {
        "PromptLookupCandidateGenerator": _candidates.of_lookup,
        "AssistedCandidateGeneratorDifferentTokenizers": _universal.reencoded,
        "SinglePositionMultiTokenCandidateGenerator": _candidates.of_single_position,
    }
    return [one._replace(name=f"{place}.{name}", run=run) for name, run in taking.items()] + [
        one._replace(name=f"{place}.{name}", run=run, warps=False) for name, run in greedy.items()
    ]
