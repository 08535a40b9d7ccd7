"""transformers' assistants with a vocabulary of their own: two tokenizers of letters, and a toy that has one more.

The target's token t is the letter number t. The assistant has one letter more, its token 0, which
no target knows; of the others it has other ids. Which order a tokenizer's `get_vocab()` has is
nobody's promise: fast ones have a hash map.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from functools import cache
from typing import Any

from specsim.conform.adapters._candidates import FILE, drafted, generator_parts
from specsim.conform.adapters._generate import DRAFTS, Written, generated_by, spelled_table, table
from specsim.conform.adapters._installed import module
from specsim.conform.adapters._rows import beginning, log
from specsim.conform.subject import Model, SamplingParams

# Probability of the letter that the target does not know.
EXTRA = 0.25
# Largest number of letters of a target; "z" is the one that it does not know.
MOST = 25


class Letters:
    """A tokenizer: every letter is a token."""

    def __init__(self, ids: dict[str, int]) -> None:
        self.ids, self.letters = ids, {i: letter for letter, i in ids.items()}

    def get_vocab(self) -> dict[str, int]:
        return dict(self.ids)

    def convert_ids_to_tokens(self, ids: Iterable[int]) -> list[str]:
        return [self.letters[int(i)] for i in ids]

    def decode(self, ids: Any, **_: Any) -> str:
        return "".join(self.convert_ids_to_tokens(ids.flatten()))

    def __call__(self, text: str, *, return_tensors: str | None = None, **_: Any) -> dict[str, Any]:
        import torch

        ids = [self.ids[letter] for letter in text if letter in self.ids]
        return {"input_ids": torch.tensor([ids]) if return_tensors else ids}


def drafts(
    draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams, *, extra: bool, ordered: bool
) -> tuple[Any, Any]:
    """Return drafts of `UniversalSpeculativeDecodingGenerator`, set up as `generate` sets it up.

    With `extra` there is a token to prune.
    """
    target, letters, model = _parts(draft.vocab, extra, ordered)
    model.toy, ids = draft, beginning(prompt)
    model.generation_config.num_assistant_tokens = gamma
    translator = module(FILE).AssistantVocabTranslatorCache.get_translator(
        target, letters, draft.vocab, assistant_model=model, assistant_prune_lm_head=True
    )
    config, inputs, _, processors = generator_parts(model, ids, gamma, sampling_params)
    made = module(FILE).UniversalSpeculativeDecodingGenerator(
        ids, model, target, letters, config, inputs, translator, None, processors
    )
    return drafted(made, ids)


def reencoded(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams) -> tuple[Any, Any]:
    """Return drafts of `AssistedCandidateGeneratorDifferentTokenizers`, for greedy decoding only."""
    target, letters, model = _parts(draft.vocab, False, True)
    model.toy, ids = draft, beginning(prompt)
    model.generation_config.num_assistant_tokens = gamma
    options = generator_parts(model, ids, gamma, SamplingParams(temperature=0.0))
    generator = module(FILE).AssistedCandidateGeneratorDifferentTokenizers
    return drafted(generator(ids, model, target, letters, *options), ids)


def generated(
    target: Model,
    draft: Model,
    prompt: Any,
    n: int,
    sampling_params: SamplingParams,
    *,
    extra: bool,
    ordered: bool,
    **options: Any,
) -> Written:
    """Return a text by `generate(assistant_model=..., tokenizer=..., assistant_tokenizer=...)`."""
    greedy = sampling_params.temperature == 0
    # The tokenizers and the assistant, then the text.
    letters, own_letters, model = _parts(draft.vocab, extra, ordered, greedy)
    model.toy, model.generation_config.num_assistant_tokens = draft, DRAFTS
    how = {"assistant_model": model, "tokenizer": letters, "assistant_tokenizer": own_letters}
    return generated_by(table(target), prompt, n, sampling_params, **how, **options)


# The library prunes a model when it first sees it, and keeps what it made of two tokenizers.
@cache
def _parts(vocab: int, extra: bool, ordered: bool, greedy: bool = False) -> tuple[Letters, Letters, Any]:
    """Return the tokenizers of target and assistant, and the assistant: one for `greedy` decoding does not prune.

    There the library reads the assistant's ids as they were; one that was pruned for sampling
    before has fewer.
    """
    import torch

    if vocab > MOST:
        raise ValueError(f"its tokens are letters, of which there are {MOST}")
    # Ids of the letters in both vocabularies.
    letters = string.ascii_lowercase[:vocab]
    ids = {letter: int(extra) + (i + 1) % vocab for i, letter in enumerate(letters)} | ({"z": 0} if extra else {})
    ordered_ids = sorted(ids.items(), key=lambda item: item[1], reverse=not ordered)
    # The assistant's id of each token of the target.
    of_target = [int(extra) + (i + 1) % vocab for i in range(vocab)]

    class Spelled:
        """The assistant's laws and texts, made from the toy's."""

        @staticmethod
        def laws(rows: Any) -> Any:
            """Return laws over the assistant's vocabulary, as logits."""
            laws = torch.zeros(len(rows), vocab + int(extra), dtype=torch.float64)
            laws[:, of_target] = torch.as_tensor(rows)
            if extra:
                laws *= 1 - EXTRA
                laws[:, 0] = EXTRA
            # A linear layer makes NaN of infinities.
            return log(laws).clamp(min=-1e4)

        @staticmethod
        def text(tokens: list[int]) -> list[int]:
            """Return the toy's tokens of a text of the assistant."""
            return [of_target.index(token) for token in tokens]

    # The assistant, with embeddings that are ids and a head that is the identity.
    size = vocab + int(extra)
    model = spelled_table(size, Spelled)
    model.embeddings = torch.nn.Embedding(size, 1)
    model.embeddings.weight.data.copy_(torch.arange(float(size)).unsqueeze(1))
    model.head = torch.nn.Linear(size, size, bias=False)
    model.head.weight.data.copy_(torch.eye(size))
    model.generation_config.num_assistant_tokens_schedule = "constant"
    model.generation_config.assistant_confidence_threshold = 0.0
    return Letters({letter: i for i, letter in enumerate(letters)}), Letters(dict(ordered_ids)), model
