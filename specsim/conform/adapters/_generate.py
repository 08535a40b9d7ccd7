"""transformers' `generate` on toy models, which are PreTrainedModels that look laws up."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from specsim.conform.adapters._installed import module
from specsim.conform.adapters._rows import beginning, log
from specsim.conform.subject import Model, SamplingParams

# Drafts of a block.
DRAFTS = 2
# Tokens, and a log-probability for each.
Written = tuple[list[int], Any]


def assisted(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, **options: Any
) -> Written:
    """Return a text by `generate(assistant_model=...)`."""
    return generated_by(table(target), prompt, n, sampling_params, assistant_model=assistant(draft, DRAFTS), **options)


def looked_up(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, **options: Any
) -> Written:
    """Return a text by `generate(prompt_lookup_num_tokens=...)`: drafts come from the text itself."""
    lookup: dict[str, Any] = {"prompt_lookup_num_tokens": DRAFTS, "max_matching_ngram_size": 1}
    return generated_by(table(target), prompt, n, sampling_params, **lookup, **options)


def sampling(sampling_params: SamplingParams) -> dict[str, Any]:
    """Return sampling parameters as a GenerationConfig has them."""
    if sampling_params.temperature == 0:
        return {"do_sample": False}
    return {"do_sample": True} | sampling_params._asdict()


def exits_early(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, **options: Any
) -> Written:
    """Return a text by `generate(assistant_early_exit=1)`.

    After its first layer the model is the draft, after its second the target.
    """
    model = early_exit(target, draft)
    model.generation_config.num_assistant_tokens = DRAFTS
    model.generation_config.num_assistant_tokens_schedule = "constant"
    return generated_by(model, prompt, n, sampling_params, assistant_early_exit=1, **options)


def early_exit(target: Model, draft: Model) -> Any:
    """Return a model of two layers."""
    made = table(target, "early exit", early=draft)
    made.config.num_hidden_layers = 2
    made.base_model_prefix, made.whole = "whole", SimpleNamespace(config=made.config)
    made.generation_config.assistant_confidence_threshold = 0.0
    return made


def generated_by(
    model: Any,
    prompt: Any,
    n: int,
    sampling_params: SamplingParams,
    *,
    end: int | None = None,
    mask: Callable[[Any], Any] | None = None,
    **how: Any,
) -> Written:
    """Return the tokens that a model appends, and their log-probabilities before the sampling parameters."""
    import torch

    ids = beginning(prompt)
    # Options of `generate`.
    options = sampling(sampling_params) | {"max_new_tokens": n, "return_dict_in_generate": True, "output_logits": True}
    if end is not None:
        options |= {"eos_token_id": end, "pad_token_id": end}
    if mask is not None:
        options["prefix_allowed_tokens_fn"] = lambda row, text: mask(text[1:].tolist()).nonzero()[0].tolist()
    # The text, and log-probabilities of its tokens.
    output = model.generate(ids, attention_mask=torch.ones_like(ids), **options, **how)
    logprobs = model.compute_transition_scores(output.sequences, output.logits, normalize_logits=True)
    return output.sequences[0, ids.shape[1] :].tolist(), logprobs[0]


def assistant(draft: Model, drafts: int) -> Any:
    """Return a model that drafts so many tokens, whether or not the last ones were accepted, and however sure it is."""
    made = table(draft, "assistant")
    made.generation_config.num_assistant_tokens = drafts
    made.generation_config.num_assistant_tokens_schedule = "constant"
    made.generation_config.assistant_confidence_threshold = 0.0
    return made


def table(model: Model, role: str = "target", *, early: Model | None = None) -> Any:
    """Return the toy as a PreTrainedModel; the library's own cache holds what it has read, and crops it.

    With `early` it looks laws up there while its configuration says that it has one layer. One
    model serves in a role, as it does for a user: making one takes as long as generating with it.
    """
    made = _made(model.vocab, role)
    made.toy, made.early = model, early
    return made


def spelled_table(vocab: int, spelled: Any) -> Any:
    """Return a model with a vocabulary of its own, embeddings and a head.

    `text` gives the toy's tokens, `laws` its own laws.
    """
    return _class()(vocab, spelled)


@cache
def _made(vocab: int, role: str) -> Any:
    """Return a table of a role, made once."""
    return _class()(vocab, None)


@cache
def _class() -> Any:
    """Return the class of toy models, which imports transformers."""
    import numpy as np
    import torch

    library = module("transformers")
    output = module("transformers.modeling_outputs").CausalLMOutputWithPast

    # A model that looks laws up in a table, with embeddings that are token ids.
    class Table(library.PreTrainedModel, library.GenerationMixin):  # type: ignore[misc, name-defined]
        """`forward` is called with the tokens that are new."""

        config_class = library.PretrainedConfig
        main_input_name = "input_ids"

        def __init__(self, vocab: int, spelled: Any) -> None:
            sizes = {"num_hidden_layers": 1, "hidden_size": 1, "num_attention_heads": 1}
            super().__init__(library.PretrainedConfig(vocab_size=vocab, **sizes))
            self.toy: Any = None
            self.early: Any = None
            self.spelled = spelled
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
            """Return logits of the new tokens, by the text that the cache holds."""
            keys = self.embeddings(input_ids).reshape(1, 1, -1, 1).float()
            seen, _values = past_key_values.update(keys, keys, 0)
            text = seen[0, 0, 1:, 0].long().tolist()
            toy = self.early if self.early is not None and self.config.num_hidden_layers == 1 else self.toy
            rows = np.stack(toy.rows(self.spelled.text(text) if self.spelled else text))
            logits = (self.spelled.laws if self.spelled else log)(rows)[None, -input_ids.shape[1] :]
            return output(logits=self.head(logits), past_key_values=past_key_values)

    return Table
