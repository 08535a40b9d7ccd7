"""What a Hugging Face config.json says of a decoder: each field under all its names, or an error that names it."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from specsim.base import check

_LATENT = ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")

# Families of the first generation have two matrices in a feed-forward block, those since have three.
_UNGATED = {
    *("gpt2", "opt", "gpt_neox", "gpt_neo", "gptj", "bloom"),
    *("falcon", "phi", "starcoder2", "gpt_bigcode", "nemotron"),
}
_EXPERTS = ("interleave_moe_layer_step", "decoder_sparse_step", "expert_layer_period", "moe_layer_freq")
_HYBRID = (
    *("attn_layer_period", "attn_layer_indices", "full_attention_interval", "hybrid_override_pattern"),
    *("block_types", "mamba_d_state", "state_size", "ssm_cfg"),
)


class Attention(NamedTuple):
    """Heads of a layer, and parameters of the products that make its queries, keys and values.

    kv_rank, rope: numbers that a layer of multi-head latent attention caches per token, 0 elsewhere.
    """

    heads: int
    kv_heads: int
    head_dim: int
    queries: int
    kv_rank: int = 0
    rope: int = 0


class Experts(NamedTuple):
    """Experts of a layer that has some: how many, how many a token takes, the width of one and of the shared ones."""

    number: int
    per_token: int
    width: int
    shared: int
    dense_layers: int  # before the first with experts


def attention(values: dict[str, Any], name: str, hidden: int) -> Attention:
    """Heads and products of a layer; ValueError where they cannot fit."""
    heads = field(values, name, "num_attention_heads", "n_head")
    one = values.get("multi_query") and not values.get("new_decoder_architecture")
    kv = 1 if one else field(values, name, "num_key_value_heads", "num_kv_heads", default=heads)
    size = field(values, name, "head_dim", default=hidden // heads)
    if values.get("kv_lora_rank") is not None:
        return _latent(values, name, hidden, heads)
    if heads % kv:
        raise ValueError(f"config {name}: {heads} query heads cannot share {kv} heads of the cache")
    if hidden % heads and values.get("head_dim") is None:
        raise ValueError(f"config {name}: hidden_size {hidden} is no multiple of its {heads} heads; give head_dim")
    return Attention(heads, kv, size, hidden * size * (heads + 2 * kv))


def matrices(values: dict[str, Any]) -> int:
    """Of a feed-forward block."""
    return 2 if values.get("model_type") in _UNGATED else 3


def experts(values: dict[str, Any], name: str, ffn: int, layers: int) -> Experts:
    """Experts of the layers that have some; ValueError where the numbers cannot be."""
    count = field(values, name, "num_experts", "num_local_experts", "n_routed_experts", default=0)
    per_token = field(values, name, "num_experts_per_tok", "num_experts_per_token")
    width = field(values, name, "moe_intermediate_size", default=ffn)
    beside = field(values, name, "n_shared_experts", default=0)
    shared = field(values, name, "shared_expert_intermediate_size", default=beside * width)
    dense = field(values, name, "first_k_dense_replace", default=0)
    if not per_token <= count:
        raise ValueError(f"config {name}: num_experts_per_tok is {per_token}, more than the {count} experts")
    if dense >= layers:
        raise ValueError(f"config {name}: first_k_dense_replace is {dense} of {layers} layers")
    return Experts(count, per_token, width, shared, dense)


def decoder(values: dict[str, Any], name: str) -> dict[str, Any]:
    """The fields of the decoder, which some configs nest; ValueError for layers that are not counted here."""
    values = values.get("text_config") or values
    if not isinstance(values, dict):
        raise ValueError(f"config {name}: text_config holds a {type(values).__name__}, not an object")
    inner = values.get("transformer_layer_config")
    if isinstance(inner, dict):
        values = {"draft_vocab_size": values.get("draft_vocab_size"), **inner}
    _refuse(values, name)
    return values


def _latent(values: dict[str, Any], name: str, hidden: int, heads: int) -> Attention:
    """What a layer of multi-head latent attention caches and multiplies."""
    rank, missing = values["kv_lora_rank"], [f for f in _LATENT if values.get(f) is None]
    if missing:
        raise ValueError(
            f"config {name} caches one compressed vector a token (kv_lora_rank is {rank}), but has no "
            f"{' and no '.join(missing)}"
        )
    rank, rope, plain, value = (field(values, name, f) for f in ("kv_lora_rank", *_LATENT))
    query = values.get("q_lora_rank")
    wide = heads * (plain + rope)
    made = hidden * wide if query is None else field(values, name, "q_lora_rank") * (hidden + wide)
    made += hidden * (rank + rope) + rank * heads * (plain + value)
    return Attention(heads, 1, value, made, rank, rope)


def drafter(values: dict[str, Any]) -> str:
    """ "eagle3", "eagle" or "": what the architecture of a config says of itself."""
    named = values.get("architectures")
    words = [str(values.get("speculators_model_type") or ""), *(map(str, named) if isinstance(named, list) else ())]
    said = " ".join(words).lower()
    if "eagle" not in said:
        return ""
    return "eagle3" if "eagle3" in said or values.get("draft_vocab_size") is not None else "eagle"


def read(config: str | PathLike[str] | dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The fields of a config, and a name for it; ValueError for a file that cannot be read."""
    if isinstance(config, dict):
        return config, str(config.get("_name_or_path") or config.get("model_type") or "model")
    path = Path(config)
    path = path / "config.json" if path.is_dir() else path
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"config {path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"config {path} is not JSON: {error}") from None
    except RecursionError:
        raise ValueError(f"config {path} is nested too deep") from None
    if not isinstance(values, dict):
        raise ValueError(f"config {path} holds a {type(values).__name__}, not an object")
    return values, path.parent.name or path.stem if path.name == "config.json" else path.stem


def _refuse(values: dict[str, Any], name: str) -> None:
    """Fields that say that the caches or layers are not the ones counted here."""
    unlike: list[tuple[str, Any, str]] = [
        ("is_encoder_decoder", False, "has an encoder"),
        *((field, 1, "has experts in some layers only") for field in _EXPERTS),
        ("mlp_only_layers", [], "has experts in some layers only"),
        *((field, None, "has attention in some layers only") for field in _HYBRID),
    ]
    for field, plain, why in unlike:
        if values.get(field) not in (None, plain):
            raise ValueError(f"config {name} {why} ({field} is {values[field]}); give the ModelShape by hand")
    other = set(values.get("layer_types") or ()) - {"full_attention", "sliding_attention", "chunked_attention"}
    if other:
        raise ValueError(f"config {name} has layers of type {', '.join(sorted(other))}; give the ModelShape by hand")


def field(values: dict[str, Any], config: str, *names: str, default: int | None = None) -> int:
    """The first of these fields that is there; the default where none is, an error where there is no default."""
    for name in names:
        if values.get(name) is not None:
            return check.integer(values[name], f"config {config}: {name}", 0 if default == 0 else 1)
    if default is None:
        raise ValueError(f"config {config} has no {' or '.join(names)}; its fields: {', '.join(sorted(values))}")
    return default
