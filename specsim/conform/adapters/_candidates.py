"""transformers' generators of candidates on toy models: the drafts that they propose, and the laws that they return."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from specsim.conform.adapters._generate import assistant, early_exit, sampling
from specsim.conform.adapters._installed import module
from specsim.conform.adapters._rows import beginning, log
from specsim.conform.subject import Model, SamplingParams

FILE = "transformers.generation.candidate_generator"


def of_assistant(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams) -> tuple[Any, Any]:
    """Return the drafts and laws of `AssistedCandidateGenerator`."""
    model, ids = assistant(draft, gamma), beginning(prompt)
    return drafted(
        module(FILE).AssistedCandidateGenerator(ids, model, *generator_parts(model, ids, gamma, sampling_params)), ids
    )


def of_early_exit(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams) -> tuple[Any, Any]:
    """Return the drafts and laws of `EarlyExitCandidateGenerator`, on a toy whose first layer holds the draft."""
    model, ids = early_exit(draft, draft), beginning(prompt)
    model.generation_config.num_assistant_tokens = gamma
    # It must draft from the first layer alone: without a toy, a pass through all layers would fail.
    model.toy = None
    made = module(FILE).EarlyExitCandidateGenerator(
        ids, model, *generator_parts(model, ids, gamma, sampling_params, assistant_early_exit=1)
    )
    return drafted(made, ids)


def of_lookup(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams) -> tuple[Any, Any]:
    """Return the drafts of `PromptLookupCandidateGenerator`, in a text that repeats itself; there is no draft model."""
    ids = beginning([*prompt, 1, 0, 1, 1, 0])
    made = module(FILE).PromptLookupCandidateGenerator(
        num_output_tokens=gamma, max_matching_ngram_size=2, max_length=ids.shape[1] + gamma + 1
    )
    return drafted(made, ids)


def of_single_position(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams) -> tuple[Any, Any]:
    """Return the drafts and laws of `SinglePositionMultiTokenCandidateGenerator`.

    The kind of assistant that it takes has laws, too.
    """
    import torch

    text: list[int] = []

    # The assistant.
    class Gemma4AssistantToy:
        """An assistant that takes tokens by their embeddings, which are the tokens."""

        generation_config = SimpleNamespace(num_assistant_tokens=gamma)
        device = torch.device("cpu")

        def __call__(self, inputs_embeds: Any, **_: Any) -> Any:
            text.append(int(inputs_embeds[0, 0, 0]))
            law = torch.as_tensor(draft(text[1:]))
            return SimpleNamespace(logits=log(law)[None, None], last_hidden_state=torch.zeros(1, 1, 1))

    ids = beginning(prompt)
    made = module(FILE).SinglePositionMultiTokenCandidateGenerator(
        Gemma4AssistantToy(), lambda ids: ids[..., None].float(), SimpleNamespace(max_length=ids.shape[1] + gamma + 1)
    )
    seen = SimpleNamespace(hidden_states=[torch.zeros(1, 1, 1)], shared_kv_states={})
    return drafted(made, ids, {}, seen, is_first_iteration=False, n_last_matches=0)


def of_heads(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams) -> tuple[Any, Any]:
    """Return the drafts and laws of `MTPCandidateGenerator`, on toy layers.

    The loop of `MtpModel` drafts a token a layer; layers look laws up.
    """
    import torch

    ids, text = beginning(prompt), list(prompt)
    drafts_a_token = module("transformers.modeling_layers").MtpModel.forward

    # Layers, each of which drafts the token after those that were drafted.
    class Heads:
        layers = [None] * gamma

        def forward_layer(self, depth: int, *_: Any, input_ids: Any, **__: Any) -> Any:
            if depth:
                text.append(int(input_ids[0, -1]))
            return log(torch.as_tensor(draft(text)))[None, None]

        def _project_to_logits(self, logits: Any) -> Any:
            return logits

    # As much of the generator as the method reads.
    processors = _processors(assistant(draft, gamma), ids, sampling_params)
    made = SimpleNamespace(num_mtp_layers=gamma, device="cpu", mtp_cache=None, is_main_model_prefill=True)
    made.do_sample, made.logits_processor = sampling_params.temperature > 0, processors
    made.mtp_model = lambda **options: drafts_a_token(Heads(), **options)
    places = {"position_ids": torch.arange(ids.shape[1])[None]}
    seen = SimpleNamespace(hidden_states=[torch.zeros(1, ids.shape[1], 1)])
    drafted_ids, logits = module(FILE).MTPCandidateGenerator.get_candidates(
        made, ids, places, seen, is_first_iteration=False, n_last_matches=0
    )
    return drafted_ids[0, ids.shape[1] :], torch.softmax(logits[0], -1)


def of_diffusion(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams) -> tuple[Any, Any]:
    """Return the drafts and laws of `DFlashTokenCandidateGenerator`, which makes all drafts at once.

    None of them depends on those before it.
    """
    import torch

    # There is always a token after the prompt, the target's.
    ids = beginning([*prompt, 0])
    config = module("transformers").PretrainedConfig(num_hidden_layers=1, hidden_size=1, num_attention_heads=1)
    config.target_layer_ids, config.block_size, config.mask_token_id = [0], gamma + 1, 0
    rows = torch.stack([log(torch.as_tensor(draft([*prompt, *[0] * i]))) for i in range(-1, gamma)])

    class Assistant:
        device = torch.device("cpu")

        def __call__(self, **_: Any) -> Any:
            return SimpleNamespace(last_hidden_state=rows[None])

    class Head:
        weight = torch.zeros(1)

        def __call__(self, hidden: Any) -> Any:
            return hidden

    # The generator of this block, with the options of a target.
    block = Assistant()
    options = SimpleNamespace(max_length=ids.shape[1] + gamma + 1, do_sample=sampling_params.temperature > 0)
    block.config = config  # type: ignore[attr-defined]
    processors = _processors(assistant(draft, gamma), ids, sampling_params)
    made = module(FILE).DFlashTokenCandidateGenerator(
        block, lambda ids: ids[..., None].float(), Head(), options, logits_processor=processors
    )
    seen = SimpleNamespace(hidden_states=[torch.zeros(1, ids.shape[1], 1)] * 2)
    inputs = {"position_ids": torch.arange(ids.shape[1])[None], "attention_mask": torch.ones_like(ids)}
    return drafted(made, ids, inputs, seen, is_first_iteration=False, n_last_matches=0)


def generator_parts(
    model: Any, ids: Any, gamma: int, sampling_params: SamplingParams, **options: Any
) -> tuple[Any, ...]:
    """Return the arguments that a generator with an assistant is made from."""
    import torch

    config = module("transformers.generation").GenerationConfig(
        max_length=ids.shape[1] + gamma + 1,
        min_length=0,
        assistant_confidence_threshold=0.0,
        **sampling(sampling_params),
        **options,
    )
    processors = model._get_logits_processor(config, ids.shape[1]) if sampling_params.temperature else None
    return config, {"attention_mask": torch.ones_like(ids)}, None, processors


def _processors(model: Any, ids: Any, sampling_params: SamplingParams) -> Any:
    """Return the processors of logits that sampling parameters ask for."""
    config = module("transformers.generation").GenerationConfig(max_length=9, min_length=0, **sampling(sampling_params))
    return model._get_logits_processor(config, ids.shape[1])


def drafted(generator: Any, ids: Any, *inputs: Any, **options: Any) -> tuple[Any, Any]:
    """Return the tokens that a generator drafts after ids (1, n), and the laws that it returns with them."""
    import torch

    ids_with_drafts, logits = generator.get_candidates(ids, *inputs, **options)
    return ids_with_drafts[0, ids.shape[1] :], None if logits is None else torch.softmax(logits[0], -1)
