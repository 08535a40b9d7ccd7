"""Texts in words: prompts become tokens, the decode loop writes, and tokens become texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from real.decode.loop import Block, Stop, decode_batch, keyed
from real.decode.options import DecodeOptions
from real.decode.stops import Stream, cut, stopping
from real.models.model import LanguageModel
from real.prompts.chat_template import prompt_ids
from specsim.base.results import result


@result("text", "tokens_per_call", "seconds")
class Generation(NamedTuple):
    """A text of `Pair.generate` up to a stop string, its tokens, its blocks, and its seconds."""

    text: str
    tokens: list[int]
    blocks: list[Block]
    seconds: float

    @property
    def tokens_per_call(self) -> float:
        """Return the tokens per target call; nan where nothing was written."""
        return len(self.tokens) / len(self.blocks) if self.blocks else float("nan")


class Request(NamedTuple):
    """Options on texts: the arguments of these names of `real.Pair.generate`."""

    prompts: list[str]
    max_tokens: int
    seed: int
    first_key: int
    stop: Sequence[str]
    stream: Callable[[str], None] | None
    chat: bool = False


def write(
    target: LanguageModel, draft: LanguageModel | None, tokenizer: Any, request: Request, options: DecodeOptions
) -> list[Generation]:
    """Write after each prompt of a request, in one batch; a stream receives pieces of the text as they come."""
    # Prompts as tokens.
    stop, stream = request.stop, request.stream
    ids = [prompt_ids(tokenizer, text, request.chat) for text in request.prompts]
    output = None if stream is None else Stream(_reader(tokenizer, ids[0]), stop, stream)

    # Write all texts; a text's key is that of its prompt.
    runs = decode_batch(
        target,
        draft,
        ids,
        max_tokens=request.max_tokens,
        gamma=options.gamma,
        uniforms=[keyed(request.seed, request.first_key + i) for i in range(len(ids))],
        warping=options.warping,
        stop=text_ends(tokenizer, stop),
        rule=options.rule,
        told=(lambda i, new: None) if output is None else output.tell,
        kept=options.kept,
        proposer=options.proposer,
        controller=options.controller,
    )

    # Tokens as texts, up to a stop string.
    if output is not None:
        output.finish()
    return [
        Generation(cut(_reader(tokenizer, prompt)(run.tokens), stop), run.tokens, run.blocks, run.seconds)
        for prompt, run in zip(ids, runs, strict=True)
    ]


def text_ends(tokenizer: Any, strings: Sequence[str]) -> Stop:
    """Return the function that ends texts: at the tokenizer's end token, or at one of the strings."""
    end = tokenizer.eos_token_id
    return stopping(tokenizer, strings, [] if end is None else [end])


def _reader(tokenizer: Any, prompt: list[int]) -> Callable[[list[int]], str]:
    """Return the function from new tokens to their characters after the prompt."""
    # Decode them together with the prompt: some decoders strip a leading space.
    before = tokenizer.decode(prompt, skip_special_tokens=True)
    return lambda tokens: tokenizer.decode(prompt + tokens, skip_special_tokens=True)[len(before) :]
