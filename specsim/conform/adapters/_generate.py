"""transformers' `generate` on toy models, which are PreTrainedModels that look laws up."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from specsim.conform.adapters._installed import module
from specsim.conform.adapters._rows import beginning, log
from specsim.conform.subject import Model, SamplingParams

DRAFTS = 2  # of a block


def assisted(target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams) -> list[int]:
    """`generate(assistant_model=...)`."""
    return generated_by(table(target), prompt, n, sampling_params, assistant_model=assistant(draft, DRAFTS))


def looked_up(target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams) -> list[int]:
    """`generate(prompt_lookup_num_tokens=...)`: drafts come from the text itself."""
    return generated_by(
        table(target), prompt, n, sampling_params, prompt_lookup_num_tokens=DRAFTS, max_matching_ngram_size=1
    )


def sampling(sampling_params: SamplingParams) -> dict[str, Any]:
    """Sampling parameters as a GenerationConfig has them."""
    if sampling_params.temperature == 0:
        return {"do_sample": False}
    return {"do_sample": True} | sampling_params._asdict()


def exits_early(target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams) -> list[int]:
    """`generate(assistant_early_exit=1)`: after its first layer the model is the draft, after its second the target."""
    model = early_exit(target, draft)
    model.generation_config.num_assistant_tokens = DRAFTS
    model.generation_config.num_assistant_tokens_schedule = "constant"
    return generated_by(model, prompt, n, sampling_params, assistant_early_exit=1)


def early_exit(target: Model, draft: Model) -> Any:
    """A model of two layers."""
    made = table(target, draft)
    made.config.num_hidden_layers = 2
    made.base_model_prefix, made.whole = "whole", SimpleNamespace(config=made.config)
    made.generation_config.assistant_confidence_threshold = 0.0
    return made


def generated_by(model: Any, prompt: Any, n: int, sampling_params: SamplingParams, **how: Any) -> list[int]:
    """The tokens that a model appends."""
    import torch

    ids = beginning(prompt)
    mask = torch.ones_like(ids)
    found = model.generate(ids, attention_mask=mask, max_new_tokens=n, **sampling(sampling_params), **how)
    return [int(x) for x in found[0, ids.shape[1] :]]


def assistant(draft: Model, drafts: int) -> Any:
    """A model that drafts so many tokens, whatever became of the last ones and however sure it is."""
    made = table(draft)
    made.generation_config.num_assistant_tokens = drafts
    made.generation_config.num_assistant_tokens_schedule = "constant"
    made.generation_config.assistant_confidence_threshold = 0.0
    return made


_classes: list[Callable[..., Any]] = []


def table(model: Model, early: Model | None = None, spelled: Any = None) -> Any:
    """The toy as a PreTrainedModel; what it has seen is kept in the library's own cache, which crops it.

    With `early` it looks laws up there while its configuration says that it has one layer. With `spelled` it has a
    vocabulary of its own: `text` gives the toy's tokens, `laws` its own laws, and it has embeddings and a head.
    """
    if not _classes:
        _classes.append(_class())
    return _classes[0](model, early, spelled)


def _class() -> Any:
    import numpy as np
    import torch

    library = module("transformers")
    output = module("transformers.modeling_outputs").CausalLMOutputWithPast

    class Table(library.PreTrainedModel, library.GenerationMixin):  # type: ignore[misc, name-defined]
        """`forward` is called with the tokens that are new."""

        config_class = library.PretrainedConfig
        main_input_name = "input_ids"

        def __init__(self, model: Model, early: Model | None, spelled: Any) -> None:
            sizes = {"num_hidden_layers": 1, "hidden_size": 1, "num_attention_heads": 1}
            super().__init__(library.PretrainedConfig(vocab_size=model.vocab, **sizes))
            self.toy, self.early, self.spelled = model, early, spelled
            self.embeddings, self.head = torch.nn.Identity(), torch.nn.Identity()
            self.nothing = torch.nn.Parameter(torch.zeros(1))

        def get_input_embeddings(self) -> Any:
            return self.embeddings

        def set_input_embeddings(self, value: Any) -> None:
            self.embeddings = value

        def get_output_embeddings(self) -> Any:
            return self.head

        def set_output_embeddings(self, new_embeddings: Any) -> None:
            self.head = new_embeddings

        def forward(self, input_ids: Any, past_key_values: Any = None, **_: Any) -> Any:
            keys = self.embeddings(input_ids).reshape(1, 1, -1, 1).float()
            seen, _values = past_key_values.update(keys, keys, 0)
            text = seen[0, 0, 1:, 0].long().tolist()
            toy = self.early if self.early is not None and self.config.num_hidden_layers == 1 else self.toy
            rows = np.stack(toy.rows(self.spelled.text(text) if self.spelled else text))
            logits = (self.spelled.laws if self.spelled else log)(rows)[None, -input_ids.shape[1] :]
            return output(logits=self.head(logits), past_key_values=past_key_values)

    return Table
