"""Laws and toy models in the shapes that language-model libraries pass around; torch is imported inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from specsim.conform.cases import warped
from specsim.conform.subject import Model, SamplingParams


def log(law: Any) -> Any:
    """Return the logits of a law, as float32."""
    import torch

    return torch.log(torch.as_tensor(law)).float()


def truncated(law: Any, sampling_params: SamplingParams) -> Any:
    """Return a law without the tokens that top-k and top-p take away, not renormalised, for packages without them."""
    if sampling_params.top_k == 0 and sampling_params.top_p == 1:
        return law
    import numpy as np

    is_possible = warped(law, sampling_params) > 0
    return np.where(is_possible, law, 0 * law)


def warm(logits: Any, sampling_params: SamplingParams) -> Any:
    """Return logits (..., V) under sampling parameters, for packages whose callers apply them.

    Equal rows are warped once.
    """
    import torch

    if sampling_params == SamplingParams():
        return logits
    rows, where = torch.unique(logits.reshape(-1, logits.shape[-1]), dim=0, return_inverse=True)
    laws = [warped(torch.softmax(row.double(), -1).numpy(), sampling_params) for row in rows]
    return torch.stack([log(law) for law in laws])[where].reshape(logits.shape)


def language_model(model: Model, sampling_params: SamplingParams) -> Callable[[Any], Any]:
    """Return a function of ids (1, n+1), the first a mark of the beginning, to logits (1, n+1, V); one pass."""
    import numpy as np

    def logits(ids: Any) -> Any:
        """Return the logits after every token."""
        rows = model.rows(ids[0, 1:].tolist())
        return log(np.stack([truncated(row, sampling_params) for row in rows]))[None]

    return logits


def beginning(prompt: Any) -> Any:
    """Return the ids that a model of `language_model` continues: a mark of the beginning, and the prompt."""
    import torch

    return torch.tensor([[0, *prompt]])
