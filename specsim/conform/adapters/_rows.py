"""Laws and toy models in the shapes that language-model libraries pass around; torch is imported inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from specsim.conform.cases import warped
from specsim.conform.subject import Model, SamplingParams


def log(law: Any) -> Any:
    """Logits of a law, as float32."""
    import torch

    return torch.log(torch.as_tensor(law)).float()


def truncated(law: Any, sampling_params: SamplingParams) -> Any:
    """A law without the tokens that top-k and top-p take away, not renormalised: for packages that have neither."""
    if sampling_params.top_k == 0 and sampling_params.top_p == 1:
        return law
    return law * (warped(law, sampling_params) > 0)


def warm(logits: Any, sampling_params: SamplingParams) -> Any:
    """Logits (..., V) under sampling parameters, for packages whose callers apply them; equal rows are warped once."""
    import torch

    if sampling_params == SamplingParams():
        return logits
    rows, where = torch.unique(logits.reshape(-1, logits.shape[-1]), dim=0, return_inverse=True)
    laws = [warped(torch.softmax(row.double(), -1).numpy(), sampling_params) for row in rows]
    return torch.stack([log(law) for law in laws])[where].reshape(logits.shape)


def language_model(model: Model, sampling_params: SamplingParams) -> Callable[[Any], Any]:
    """ids (1, n+1), the first of them a mark of the beginning -> logits (1, n+1, V); one pass."""
    import numpy as np

    def logits(ids: Any) -> Any:
        rows = model.rows(ids[0, 1:].tolist())
        return log(np.stack([truncated(row, sampling_params) for row in rows]))[None]

    return logits


def beginning(prompt: Any) -> Any:
    """The ids that a model of `language_model` continues: a mark of the beginning, and the prompt."""
    import torch

    return torch.tensor([[0, *prompt]])
