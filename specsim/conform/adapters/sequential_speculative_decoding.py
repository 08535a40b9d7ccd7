"""sequential-speculative-decoding: rounds of tokenwise and of hierarchical speculative decoding, naive and capped."""

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


def subjects() -> list[Subject]:
    """Return each of its rounds, continued by the target."""
    caveat = note(DISTRIBUTION, VERSIONS, "top-k and top-p are the adapter's: the functions have none")
    decoders = []
    for place in ("standard_sd.standard_speculative_step", "naive_hsd.naive_hsd_step", "capped_hsd.capped_hsd_step"):
        file, _, name = place.partition(".")
        run = partial(_block, getattr(module(f"{ENTRY}.{file}"), name))
        decoder = Subject(f"{ENTRY}.{place}", "decoder", run, "torch", "float32", "global", warps=True, block=True)
        decoders.append(decoder._replace(note=caveat))
    return decoders


def _block(
    step: Callable[..., Any], target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams
) -> list[int]:
    """Return the tokens that one round appends."""
    ids = beginning(prompt)
    models = [partial(_called, language_model(model, sampling_params)) for model in (draft, target)]
    after, _, _ = step(*models, ids, n - 1, sampling_params.temperature, sampling_params.temperature)
    return [int(x) for x in after[0, ids.shape[1] :]]


def _called(logits: Callable[[Any], Any], ids: Any) -> SimpleNamespace:
    """Return the output of a model of transformers."""
    return SimpleNamespace(logits=logits(ids))
