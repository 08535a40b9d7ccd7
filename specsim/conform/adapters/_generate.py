"""transformers' `generate` and its candidate generators on toy models, which are PreTrainedModels that look laws up."""

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
    return _generated(target, prompt, n, sampling_params, assistant_model=_assistant(draft, DRAFTS))


def looked_up(target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams) -> list[int]:
    """`generate(prompt_lookup_num_tokens=...)`: drafts come from the text itself."""
    return _generated(target, prompt, n, sampling_params, prompt_lookup_num_tokens=DRAFTS, max_matching_ngram_size=1)


def assistant_drafts(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams) -> tuple[Any, Any]:
    """What `AssistedCandidateGenerator` proposes, and the law that it returns."""
    import torch

    generation, ids = module("transformers.generation"), beginning(prompt)
    assistant = _assistant(draft, gamma)
    config = generation.GenerationConfig(
        max_length=ids.shape[1] + gamma + 1,
        min_length=0,
        assistant_confidence_threshold=0.0,
        **_sampling(sampling_params),
    )
    made = module("transformers.generation.candidate_generator").AssistedCandidateGenerator(
        ids,
        assistant,
        config,
        {"attention_mask": torch.ones_like(ids)},
        logits_processor=assistant._get_logits_processor(config, ids.shape[1]) if sampling_params.temperature else None,
    )
    found, logits = made.get_candidates(ids)
    return found[0, ids.shape[1] :], torch.softmax(logits[0], -1)


def single_position_drafts(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams) -> tuple[Any, Any]:
    """What `SinglePositionMultiTokenCandidateGenerator` proposes; the kind of assistant that it takes has laws, too."""
    import torch

    text: list[int] = []

    class Gemma4AssistantToy:
        """Told of tokens by their embeddings, which are the tokens."""

        generation_config = SimpleNamespace(num_assistant_tokens=gamma)
        device = torch.device("cpu")

        def __call__(self, inputs_embeds: Any, **_: Any) -> Any:
            text.append(int(inputs_embeds[0, 0, 0]))
            law = torch.as_tensor(draft(text[1:]))
            return SimpleNamespace(logits=log(law)[None, None], last_hidden_state=torch.zeros(1, 1, 1))

    ids = beginning(prompt)
    made = module("transformers.generation.candidate_generator").SinglePositionMultiTokenCandidateGenerator(
        Gemma4AssistantToy(), lambda ids: ids[..., None].float(), SimpleNamespace(max_length=ids.shape[1] + gamma + 1)
    )
    seen = SimpleNamespace(hidden_states=[torch.zeros(1, 1, 1)], shared_kv_states={})
    found, logits = made.get_candidates(ids, {}, seen, is_first_iteration=False, n_last_matches=0)
    return found[0, ids.shape[1] :], torch.softmax(logits[0], -1)


def _sampling(sampling_params: SamplingParams) -> dict[str, Any]:
    if sampling_params.temperature == 0:
        return {"do_sample": False}
    return {"do_sample": True} | sampling_params._asdict()


def _generated(target: Model, prompt: Any, n: int, sampling_params: SamplingParams, **how: Any) -> list[int]:
    import torch

    ids = beginning(prompt)
    mask = torch.ones_like(ids)
    found = _table(target).generate(ids, attention_mask=mask, max_new_tokens=n, **_sampling(sampling_params), **how)
    return [int(x) for x in found[0, ids.shape[1] :]]


def _assistant(draft: Model, drafts: int) -> Any:
    """A model that drafts so many tokens, whatever became of the last ones and however sure it is."""
    made = _table(draft)
    made.generation_config.num_assistant_tokens = drafts
    made.generation_config.num_assistant_tokens_schedule = "constant"
    made.generation_config.assistant_confidence_threshold = 0.0
    return made


_classes: list[Callable[[Model], Any]] = []


def _table(model: Model) -> Any:
    """The toy as a PreTrainedModel; what it has seen is kept in the library's own cache, which crops it."""
    if not _classes:
        _classes.append(_class())
    return _classes[0](model)


def _class() -> Any:
    import numpy as np
    import torch

    library = module("transformers")
    output = module("transformers.modeling_outputs").CausalLMOutputWithPast

    class Table(library.PreTrainedModel, library.GenerationMixin):  # type: ignore[misc, name-defined]
        """`forward` is called with the tokens that are new."""

        config_class = library.PretrainedConfig
        main_input_name = "input_ids"

        def __init__(self, model: Model) -> None:
            sizes = {"num_hidden_layers": 1, "hidden_size": 1, "num_attention_heads": 1}
            super().__init__(library.PretrainedConfig(vocab_size=model.vocab, **sizes))
            self.toy, self.nothing = model, torch.nn.Parameter(torch.zeros(1))

        def forward(self, input_ids: Any, past_key_values: Any = None, **_: Any) -> Any:
            keys = input_ids[:, None, :, None].float()
            seen, _values = past_key_values.update(keys, keys, 0)
            rows = self.toy.rows(seen[0, 0, 1:, 0].long().tolist())
            logits = log(np.stack(rows))[None, -input_ids.shape[1] :]
            return output(logits=logits, past_key_values=past_key_values)

    return Table
