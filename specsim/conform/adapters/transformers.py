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
    """Return the rule with a law of the draft, with one-hot drafts, and with the ensemble weight, which is lossy."""
    caveat = note(DISTRIBUTION, VERSIONS)
    sample = module("transformers.generation.utils")._speculative_sampling

    def sampled(p: Any, q: Any, drafts: Any, **more: Any) -> list[int]:
        """Return the tokens of one block."""
        tokens, _ = sample(drafts[None], q[None], len(drafts), p[None], **more)
        return [int(x) for x in tokens[0]]

    def looked_up(p: Any, q: None, drafts: Any) -> list[int]:
        """Verify drafts that have no law."""
        import torch

        one_hot = torch.nn.functional.one_hot(drafts, p.shape[-1])
        return sampled(p, torch.log(one_hot.to(p.dtype)), drafts)

    def ensemble(p: Any, q: Any, drafts: Any) -> list[int]:
        """Verify with the ensemble weight."""
        return sampled(p, q, drafts, assistant_ensemble_weight=0.7)

    # The entries as subjects, with `generate` and the drafters.
    whole = Subject(ENTRY, "chain", sampled, "torch", randomness="global", returns="tokens", logits=True, note=caveat)
    whole = whole._replace(dtypes=("float32", "bfloat16"))
    return [
        whole,
        whole._replace(name=f"{ENTRY}, one-hot drafts", run=looked_up, takes_q=False),
        whole._replace(name=f"{ENTRY}, assistant_ensemble_weight=0.7", run=ensemble, lossless=False),
        *_whole(caveat),
    ]


def _whole(caveat: str) -> list[Subject]:
    """End to end, on tables that are PreTrainedModels, and what is drafted there."""
    decoder = Subject("", "decoder", _generate.assisted, "torch", "float32", "global", sizes=(1, 2), warps=True)
    decoder = decoder._replace(note=caveat)
    writes = decoder._replace(stops=True, masks=True, logprobs="raw")
    with_letters = partial(_universal.generated, extra=True)
    functions: list[tuple[str, Callable[..., Any]]] = [
        ("(assistant_model=...)", _generate.assisted),
        ("(prompt_lookup_num_tokens=...)", _generate.looked_up),
        ("(assistant_early_exit=1)", _generate.exits_early),
        ("(assistant_tokenizer=...), get_vocab() ordered by id", partial(with_letters, ordered=True)),
        ("(assistant_tokenizer=...), get_vocab() in another order", partial(with_letters, ordered=False)),
    ]
    whole = [writes._replace(name=f"transformers generate{words}", run=run) for words, run in functions]
    return [*whole, *_drafters(decoder._replace(kind="drafter"))]


def _drafters(drafter: Subject) -> list[Subject]:
    """Return every generator of candidates; those that take no sampling parameters are greedy."""
    place, universal = _candidates.FILE.rpartition(".")[0], "UniversalSpeculativeDecodingGenerator"
    drafts = partial(_universal.drafts, extra=True)
    # Those that take sampling parameters, and greedy ones.
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
    return [drafter._replace(name=f"{place}.{name}", run=run) for name, run in taking.items()] + [
        drafter._replace(name=f"{place}.{name}", run=run, warps=False) for name, run in greedy.items()
    ]
