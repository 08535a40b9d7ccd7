"""Where texts end, and what a stream says of them: stop strings inside a block, of many tokens, in any characters."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers import models as models_of_tokens
from transformers import PreTrainedTokenizerFast

import real
from real import TINY
from real.decode.stops import Stream, cut, stopping


@pytest.fixture(scope="module")
def pair() -> real.Pair:
    torch.set_num_threads(1)
    return real.load(TINY / "target", TINY / "draft")


@pytest.mark.parametrize("gamma", [0, 4])
def test_stop_strings_cut_inside_a_block(pair: real.Pair, gamma: int) -> None:
    """A text with stop strings is the text without them, up to the first one."""
    whole = pair.generate("def main():\n", max_tokens=60, gamma=gamma, seed=5)
    for start in range(2, len(whole.text) - 6, 5):
        string = whole.text[start : start + 3]
        short = pair.generate("def main():\n", max_tokens=60, gamma=gamma, seed=5, stop=["\x00never", string])
        assert short.text == cut(whole.text, [string])
        assert short.tokens == whole.tokens[: len(short.tokens)]
        assert string in pair.tokenizer.decode(short.tokens)
        assert string not in pair.tokenizer.decode(short.tokens[:-1])


def test_stream_says_the_text_piece_by_piece(pair: real.Pair) -> None:
    for seed in range(6):
        pieces: list[str] = []
        run = pair.generate("# naïve façade\n", max_tokens=40, seed=seed, stop=["\n\n", "self"], stream=pieces.append)
        assert "".join(pieces) == run.text
        assert len(pieces) > 1 or len(run.blocks) < 3


def test_a_stream_waits_for_what_may_change() -> None:
    """A character whose bytes are not all there, and a stop string that has only begun, are not said."""
    said: list[str] = []
    texts = iter(["ab\ufffd", "abé<", "abé<s", "abé<sx", "abé<sx<st>y"])
    stream = Stream(lambda tokens: next(texts), ["<st>"], said.append)
    for _ in range(4):
        stream.tell(0, [0])
    assert said == ["ab", "é", "<sx"]
    stream.finish()
    assert "".join(said) == "abé<sx"


@pytest.mark.parametrize("string", ["<st>", "ab", "\n\n", "aab"])
def test_a_stream_never_says_a_beginning_of_a_stop_string(string: str) -> None:
    """Character by character: of any length, the whole string but its last character included."""
    said: list[str] = []
    texts = iter([f"xy{string[:n]}" for n in range(len(string) + 1)])
    stream = Stream(lambda tokens: next(texts), [string], said.append)
    for _ in range(len(string) + 1):
        stream.tell(0, [0])
        assert "".join(said) == "xy"


def test_stop_strings_with_a_decoder_that_strips_a_leading_space() -> None:
    """Metaspace, as in Llama 2: " foo" is one token, and alone it decodes to "foo"."""
    words = Tokenizer(models_of_tokens.WordLevel({"\u2581a": 0, "\u2581foo": 1, "\u2581bar": 2}, unk_token="\u2581a"))
    words.pre_tokenizer, words.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words)
    assert tokenizer.decode([1]) == "foo"
    ends = stopping(tokenizer, [" foo"])
    assert ends([1], 0) == 1
    assert ends([2, 1, 2], 0) == 2
    assert ends([2, 2], 0) is None


@cache
def bytes_tokenizer() -> PreTrainedTokenizerFast:
    """A token for each byte: a string of n bytes is n tokens, and a character may be several."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = Tokenizer(models_of_tokens.BPE({char: i for i, char in enumerate(alphabet)}, []))
    merges.pre_tokenizer, merges.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=merges)


def assert_ends_at_the_first_stop(text: str, strings: list[str]) -> int:
    """Wherever the block before ended, the text ends with the first token that completes a string; how many tokens."""
    ids = bytes_tokenizer()(text).input_ids
    whole = (n for n in range(len(ids) + 1) if any(s in bytes_tokenizer().decode(ids[:n]) for s in strings))
    wanted = next(whole, None)
    ends = stopping(bytes_tokenizer(), strings)
    for safe in range(len(ids) if wanted is None else wanted):
        assert ends(ids, safe) == wanted, (text, strings, safe)
    return 0 if wanted is None else wanted


PIECES = st.text("ab\u00e9\u20ac", min_size=1, max_size=5)


@settings(max_examples=60)
@given(st.lists(PIECES, min_size=1, max_size=4), st.lists(PIECES, min_size=1, max_size=2))
def test_stop_strings_of_many_tokens(pieces: list[str], strings: list[str]) -> None:
    assert_ends_at_the_first_stop("".join([*pieces, *strings[:1], *pieces]), strings)


def test_a_stop_string_of_many_tokens_ends_a_text() -> None:
    assert assert_ends_at_the_first_stop("abacus \u20ac\u20ac\u20ac is it", ["\u20ac\u20ac\u20ac"]) == 16
    assert assert_ends_at_the_first_stop("to be or not to be", ["or not"]) == 12
    assert assert_ends_at_the_first_stop("to be or not to be", ["or  not"]) == 0
