"""A prompt and a pair of small models, and a text that they decode."""

from __future__ import annotations

from typing import Any

import torch

from helpers.tiny_models import tiny_llama
from real.decode.loop import Decoded, decode, keyed
from real.models.model import LanguageModel, from_hf


def models(vocab: int, seed: int, device: str = "cpu") -> tuple[Any, LanguageModel, LanguageModel]:
    target, draft = (tiny_llama(vocab, seed=s, dtype=torch.float64).to(device) for s in (2 * seed, 2 * seed + 1))
    return target, from_hf(target), from_hf(draft)


def run(target: LanguageModel, draft: LanguageModel | None, gamma: int, **changes: Any) -> Decoded:
    arguments = {"max_tokens": 12, "uniforms": keyed(7, 0), **changes}
    return decode(target, draft, arguments.pop("prompt", [1, 2]), gamma=gamma, **arguments)
