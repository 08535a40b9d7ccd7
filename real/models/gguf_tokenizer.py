"""The tokenizer of a GGUF file, written as Hugging Face's files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from specsim.latency.gguf_header import GgufHeader

# Kinds of tokens in `tokenizer.ggml.token_type`.
UNKNOWN, CONTROL, USER_DEFINED = 2, 3, 4
# How texts are split before their bytes are merged, by the name in `tokenizer.ggml.pre`. The
# patterns are those of the models' own tokenizers.
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
SPLITS: dict[str, Callable[[], Any]] = {
    "gpt-2": lambda: pre_tokenizers.ByteLevel(add_prefix_space=False),
    "smollm": lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    ),
    "llama-bpe": lambda: _split(_LLAMA3),
    "qwen2": lambda: _split(_QWEN2),
}


def write_tokenizer(header: GgufHeader, folder: Path) -> None:
    """Write the tokenizer of a file into a folder.

    Parameters
    ----------
    header : GgufHeader
        Of the file; its tokenizer is `gpt2` (merges of bytes, split as one of `SPLITS`) or `llama`
        (SentencePiece).
    folder : Path
        Where its files go.

    Raises
    ------
    ValueError
        Another tokenizer, or lists that do not fit each other.
    """
    metadata = header.metadata
    tokens = list(metadata["tokenizer.ggml.tokens"])
    kinds = [int(kind) for kind in metadata.get("tokenizer.ggml.token_type", [1] * len(tokens))]
    if len(kinds) != len(tokens):
        raise ValueError(f"{header.path}: {len(kinds)} kinds of {len(tokens)} tokens")

    # Merges of pieces, and how a text becomes pieces.
    kind = metadata.get("tokenizer.ggml.model")
    if kind == "gpt2":
        tokenizer = _byte_tokenizer(header, tokens)
    elif kind == "llama":
        tokenizer = _piece_tokenizer(header, tokens, kinds)
    else:
        raise ValueError(f"{header.path}: tokenizer {kind!r:.60} is not read; read are gpt2 and llama")

    # Special tokens and those of users are never split.
    special = [AddedToken(token, special=True, normalized=False) for token in _tokens_of_kind(tokens, kinds, CONTROL)]
    plain = [
        AddedToken(token, special=False, normalized=False) for token in _tokens_of_kind(tokens, kinds, USER_DEFINED)
    ]
    tokenizer.add_special_tokens(special)
    tokenizer.add_tokens(plain)

    # Tokens with a role; texts begin with the first one if the file says so.
    # GGUF's names of roles, and Hugging Face's.
    roles = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}
    token_of_role = {hf_role: _token(header, tokens, role) for role, hf_role in roles.items()}
    bos = token_of_role["bos_token"]
    if metadata.get("tokenizer.ggml.add_bos_token", kind == "llama") and bos is not None:
        # $A and $B are the texts.
        special_tokens = [(bos, tokens.index(bos))]
        tokenizer.post_processor = processors.TemplateProcessing(f"{bos} $A", f"{bos} $A $B", special_tokens)

    # The files, with the chat template.
    pretrained = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        clean_up_tokenization_spaces=False,
        **{role: token for role, token in token_of_role.items() if token is not None},
    )
    template = metadata.get("tokenizer.chat_template")
    if not isinstance(template, str | None):
        raise ValueError(f"{header.path}: tokenizer.chat_template is {template!r:.40}, not a text")
    pretrained.chat_template = template
    pretrained.save_pretrained(folder)


def _byte_tokenizer(header: GgufHeader, tokens: Sequence[str]) -> Tokenizer:
    """Return a tokenizer that merges bytes, as GPT-2's."""
    # How texts are split before bytes are merged.
    split = header.metadata.get("tokenizer.ggml.pre", "gpt-2")
    if split not in SPLITS:
        raise ValueError(f"{header.path}: tokenizer.ggml.pre {split!r:.60} is not read; read are {', '.join(SPLITS)}")

    # Merges: each has two parts, which are tokens, as are the two joined.
    merges = [merge.split(" ") for merge in header.metadata.get("tokenizer.ggml.merges", [])]
    if any(len(merge) != 2 for merge in merges):
        raise ValueError(f"{header.path}: a merge of tokenizer.ggml.merges has not two parts")
    vocab = {token: i for i, token in enumerate(tokens)}
    unknown = next((piece for a, b in merges for piece in (a, b, a + b) if piece not in vocab), None)
    if unknown is not None:
        raise ValueError(f"{header.path}: a merge of tokenizer.ggml.merges has {unknown!r:.60}, which is no token")

    # Llama 3 takes a whole word that is a token without merging; Qwen 2 normalises texts first.
    tokenizer = Tokenizer(
        models.BPE(vocab=vocab, merges=[(a, b) for a, b in merges], ignore_merges=split == "llama-bpe")
    )
    if split == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = SPLITS[split]()
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _piece_tokenizer(header: GgufHeader, tokens: Sequence[str], kinds: Sequence[int]) -> Tokenizer:
    """Return a tokenizer that merges SentencePiece's pieces by their scores, as Llama 2's."""
    scores = header.metadata.get("tokenizer.ggml.scores")
    if scores is None or len(scores) != len(tokens):
        raise ValueError(f"{header.path}: tokenizer.ggml.scores must hold a number for each of {len(tokens)} tokens")
    vocab = {token: i for i, token in enumerate(tokens)}

    # Every piece is merged from any two pieces that make it: those of the best score first, then by
    # the numbers of the two.
    merges = [
        (-float(scores[i]), vocab[piece[:cut]], vocab[piece[cut:]], piece[:cut], piece[cut:])
        for i, piece in enumerate(tokens)
        if kinds[i] not in (UNKNOWN, CONTROL)
        for cut in range(1, len(piece))
        if piece[:cut] in vocab and piece[cut:] in vocab
    ]
    unknown = _token(header, tokens, "unknown")

    # A text begins with a space, which is written as a bar, and decoding takes the space away again.
    tokenizer = Tokenizer(
        models.BPE(
            vocab=vocab,
            merges=[(left, right) for *_, left, right in sorted(merges)],
            unk_token=unknown,
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    has_space = header.metadata.get("tokenizer.ggml.add_space_prefix", True)
    add_space: list[Any] = [normalizers.Prepend("▁")] if has_space else []
    tokenizer.normalizer = normalizers.Sequence([*add_space, normalizers.Replace(" ", "▁")])
    strip_space: list[Any] = [decoders.Strip(" ", 1, 0)] if has_space else []
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *strip_space]
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


def _split(pattern: str) -> Any:
    """Return the step that cuts a text at a pattern's matches and writes bytes as characters."""
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _tokens_of_kind(tokens: Sequence[str], kinds: Sequence[int], wanted: int) -> list[str]:
    """Return the tokens of one kind, in order."""
    return [token for token, kind in zip(tokens, kinds, strict=True) if kind == wanted]


def _token(header: GgufHeader, tokens: Sequence[str], role: str) -> str | None:
    """Return the token that has a role, such as bos; None where none has it."""
    number = header.metadata.get(f"tokenizer.ggml.{role}_token_id")
    if number is None:
        return None
    if not isinstance(number, int) or not 0 <= number < len(tokens):
        raise ValueError(f"{header.path}: tokenizer.ggml.{role}_token_id is {number!r:.40}, not one of {len(tokens)}")
    return tokens[number]
