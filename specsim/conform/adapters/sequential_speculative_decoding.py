"""sequential-speculative-decoding: rounds of tokenwise and of hierarchical speculative decoding.

The latter come in a naive and a capped form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from specsim.conform.adapters._installed import module, note
from specsim.conform.adapters._rows import beginning, language_model
from specsim.conform.subject import Model, SamplingParams, Subject

DISTRIBUTION = "sequential-speculative-decoding"
VERSIONS = "==0.1.1"
KIND = "decoder"
ENTRY = "seqspecdecod"
NEEDS = ("torch", "transformers")
LICENCE = "MIT"


# The package's functions that run one round, each as file and name.
STEPS = (
    "standard_sd.standard_speculative_step",
    "naive_hsd.naive_hsd_step",
    "capped_hsd.capped_hsd_step",
)


def subjects() -> list[Subject]:
    """Return each of its rounds as a decoder of one block, which the target continues."""
    caveat = note(DISTRIBUTION, VERSIONS, "top-k and top-p are the adapter's: the functions have none")
    # Each function verifies one block; the target continues its text.
    decoders = []
    for place in STEPS:
        file, _, name = place.partition(".")
        run = partial(_block_tokens, getattr(module(f"{ENTRY}.{file}"), name))
        decoder = Subject(
            f"{ENTRY}.{place}",
            "decoder",
            run,
            arrays="torch",
            dtype="float32",
            randomness="global",
            warps=True,
            block=True,
            note=caveat,
        )
        decoders.append(decoder)
    return decoders


def _block_tokens(
    step: Callable[..., Any],
    target: Model,
    draft: Model,
    prompt: Any,
    n: int,
    sampling_params: SamplingParams,
) -> list[int]:
    """Return the tokens of one block after the prompt: at most n, of which n - 1 are drafts.

    `step` is a function of the package: step(draft model, target model, ids, number of drafts, and
    two temperatures) returns a tuple of three, of which the first are the ids with the block.
    """
    prompt_ids = beginning(prompt)
    draft_model = partial(_output, language_model(draft, sampling_params))
    target_model = partial(_output, language_model(target, sampling_params))
    temperature = sampling_params.temperature
    ids, _, _ = step(draft_model, target_model, prompt_ids, n - 1, temperature, temperature)
    return [int(token) for token in ids[0, prompt_ids.shape[1] :]]


def _output(logits: Callable[[Any], Any], ids: Any) -> SimpleNamespace:
    """Return the logits after ids in a record like those that models of transformers return."""
    return SimpleNamespace(logits=logits(ids))
