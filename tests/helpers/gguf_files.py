"""GGUF files written from small models, as llama.cpp's converter writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

from helpers import tiny_models as tiny
from real import TINY
from real.models.gguf_names import INSIDE, OUTSIDE

TOKENIZER = TINY / "target"
VOCAB = 2048
SIZES = {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "context": 64}
MAKERS: dict[str, Callable[..., Any]] = {
    "llama": tiny.tiny_llama, "qwen2": tiny.tiny_qwen2, "qwen3": tiny.tiny_qwen3
}  # fmt: skip
NAMES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}


def made(path: Path, name: str = "llama", kind: str = "F32", **metadata: Any) -> tuple[Any, Path]:
    """Return a random model, and the file that is written from it."""
    model = MAKERS[name](VOCAB, **SIZES, seed=3, dtype=torch.float32)
    return model, write_gguf(path / f"{name}.gguf", model, TOKENIZER, kind, **metadata)


def write_gguf(
    path: Path, model: Any, tokenizer: Path | None, kind: str = "F32", *, head: str = "", **metadata: Any
) -> Path:
    """Write a model and the tokenizer of a folder.

    Matrices are of the type `kind`, whose blocks must fit their rows; vectors are F32.
    """
    # The metadata: sizes, tokenizer, and what the test adds.
    config = model.config
    architecture = next(name for name, title in NAMES.items() if type(model).__name__ == title)
    writer = GGUFWriter(path, architecture)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_key_length(head_dim)
    if tokenizer is not None:
        _add_tokenizer(writer, json.loads((tokenizer / "tokenizer.json").read_text(encoding="utf-8")))
    for name, value in metadata.items():
        writer.add_string(name.replace("__", "."), value)

    # The tensors. A llama's queries and keys are permuted, and a tied head is not written.
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        values = weight.detach().float().numpy()
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(name.split(".")[-2])
        if architecture == "llama" and heads:
            values = _side_by_side(values, heads)
        is_head = name in ("lm_head.weight", "model.embed_tokens.weight")
        _add_tensor(writer, _gguf_name(name), np.ascontiguousarray(values), head if head and is_head else kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tokenizer(writer: GGUFWriter, tokenizer: dict[str, Any]) -> None:
    """Add a tokenizer to the metadata: tokens, their types, merges, and the tokens of ends."""
    vocab = tokenizer["model"]["vocab"]
    special = {token["content"] for token in tokenizer["added_tokens"]}
    tokens = sorted(vocab, key=vocab.get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in special else 1 for token in tokens])
    writer.add_token_merges([" ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(0)
    writer.add_bos_token_id(0)
    writer.add_add_bos_token(False)


def _add_tensor(writer: GGUFWriter, name: str, values: np.ndarray, kind: str) -> None:
    """Add a tensor: a matrix quantised as `kind` says, a vector in F32."""
    if values.ndim < 2 or kind == "F32":
        writer.add_tensor(name, values)
        return
    number = GGMLQuantizationType[kind]
    writer.add_tensor(name, quantize(values, number), raw_dtype=number)


def _gguf_name(name: str) -> str:
    """Return GGUF's name of one of Hugging Face's tensors."""
    outside = {f"{ours}.weight": f"{theirs}.weight" for theirs, ours in OUTSIDE.items()}
    if name in outside:
        return outside[name]
    inside = {ours: theirs for theirs, ours in INSIDE.items()}
    if name.count(".") == 4:  # model.layers.0.input_layernorm.weight
        _, _, number, part, kind = name.split(".")
        return f"blk.{number}.{inside[part]}.{kind}"
    _, _, number, block, part, kind = name.split(".")
    return f"blk.{number}.{inside[f'{block}.{part}']}.{kind}"


def _side_by_side(values: np.ndarray, heads: int) -> np.ndarray:
    """Return rows of queries or keys with the two numbers that rotate together side by side."""
    halves = values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:])
    return halves.swapaxes(1, 2).reshape(values.shape)
