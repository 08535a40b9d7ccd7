"""Token mixers of a layer: attention of three kinds, and layers that keep a state of fixed size."""

from __future__ import annotations

from typing import NamedTuple

from specsim.latency.configs.fields import Fields


class Attention(NamedTuple):
    """Attention of one layer: its heads, the weights of the products before and after it, and what it caches.

    kv_rank, rope: numbers that multi-head latent attention (MLA) caches per token, 0 elsewhere. index_heads,
    index_size, index_topk: of sparse attention, an indexer that picks the tokens that a query reads, 0 elsewhere.
    """

    heads: int
    kv_heads: int
    head_dim: int
    queries: int
    output: int
    kv_rank: int = 0
    rope: int = 0
    index_heads: int = 0
    index_size: int = 0
    index_topk: int = 0


class State(NamedTuple):
    """A layer that keeps a state instead of a cache: its weights, and the numbers of the state of one sequence."""

    weights: int
    numbers: int


def grouped(fields: Fields, hidden: int) -> Attention:
    """Attention whose heads share keys and values in groups; ValueError where they cannot."""
    heads = fields.number("num_attention_heads", "n_head")
    size = fields.number("head_dim", "attention_head_dim", default=hidden // heads or 1)
    is_single = fields.get("multi_query") and not fields.get("new_decoder_architecture")
    kv = 1 if is_single else fields.number("num_key_value_heads", "num_kv_heads", default=heads)
    fields.read.update(("num_key_value_heads", "num_kv_heads"))
    if heads % kv:
        raise ValueError(f"config {fields.name}: {heads} query heads cannot share {kv} heads of the cache")
    if hidden % heads and fields.get("head_dim", "attention_head_dim") is None:
        raise ValueError(
            f"config {fields.name}: hidden_size {hidden} is no multiple of its {heads} heads; give head_dim"
        )
    return Attention(heads, kv, size, hidden * size * (heads + 2 * kv), hidden * size * heads)


def alike(fields: Fields, hidden: int) -> Attention:
    """Attention of GPT-NeoX: as many heads of keys and values as of queries, whatever other fields say."""
    values = {**fields.values, "num_key_value_heads": None, "head_dim": None}
    return grouped(fields._replace(values=values), hidden)


def square_output(fields: Fields, hidden: int) -> Attention:
    """Grouped attention whose output is as wide as the layer (Helium)."""
    return grouped(fields, hidden)._replace(output=hidden * hidden)


def gated(fields: Fields, hidden: int) -> Attention:
    """Grouped attention whose output is multiplied by a gate, made beside the queries."""
    plain = grouped(fields, hidden)
    if fields.get("attn_output_gate") is False:
        return plain
    return plain._replace(queries=plain.queries + plain.output)


def latent(fields: Fields, hidden: int) -> Attention:
    """Multi-head latent attention: one compressed vector and one rotary key are cached per token."""
    heads = fields.number("num_attention_heads")
    fields.read.update(("num_key_value_heads", "head_dim", "qk_head_dim"))
    rank, rope, plain, value = (
        fields.number(name) for name in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
    )
    wide = heads * (plain + rope)
    compressed = fields.get("q_lora_rank")
    made = hidden * wide if compressed is None else fields.number("q_lora_rank") * (hidden + wide)
    made += hidden * (rank + rope) + rank * heads * (plain + value)
    return Attention(heads, 1, value, made, heads * value * hidden, rank, rope)


def indexed(fields: Fields, hidden: int) -> Attention:
    """Latent attention that reads the tokens an indexer picks (DeepSeek sparse attention)."""
    plain = latent(fields, hidden)
    heads, size, topk = (fields.number(name) for name in ("index_n_heads", "index_head_dim", "index_topk"))
    if set(fields.entries("indexer_types") or ["full"]) != {"full"}:
        raise fields.refusal("has layers that share an indexer (indexer_types), which are not counted here")
    picked = fields.number("q_lora_rank") * heads * size + hidden * (size + heads)
    return plain._replace(queries=plain.queries + picked, index_heads=heads, index_size=size, index_topk=topk)


def gated_delta(fields: Fields, hidden: int) -> State:
    """Gated DeltaNet (Qwen3-Next): queries, keys, values, a gate and two scalars a head; a convolution; an output."""
    keys = fields.number("linear_num_key_heads") * fields.number("linear_key_head_dim")
    heads, size = fields.number("linear_num_value_heads"), fields.number("linear_value_head_dim")
    kernel, values = fields.number("linear_conv_kernel_dim"), heads * size
    mixed = 2 * keys + values
    weights = hidden * (mixed + values + 2 * heads) + mixed * kernel + values * hidden
    return State(weights, heads * fields.number("linear_key_head_dim") * size + mixed * kernel)


def delta_attention(fields: Fields, hidden: int) -> State:
    """Kimi delta attention: queries, keys, values and an output; two gates through a product of low rank."""
    config = fields.get("linear_attn_config", default={})
    config = config if isinstance(config, dict) else {}
    config_fields = Fields(config, fields.name, set(), {})
    size = config_fields.number("head_dim", default=0) or fields.number("linear_head_dim")
    heads = config_fields.number("num_heads", default=0) or fields.number("linear_num_heads")
    kernel = config_fields.number("short_conv_kernel_size", default=0) or fields.number("linear_conv_kernel_dim")
    fields.read.update(("linear_head_dim", "linear_num_heads", "linear_conv_kernel_dim"))
    wide = heads * size
    gates = 2 * (hidden * size + size * wide) + hidden * heads
    return State(4 * hidden * wide + gates + 3 * wide * kernel, wide * size + 3 * wide * kernel)


def lightning(fields: Fields, hidden: int) -> State:
    """Lightning attention (MiniMax-01): queries, keys, values, a gate and an output, all of the query heads."""
    plain = grouped(fields, hidden)
    return State(5 * plain.output, plain.heads * plain.head_dim**2)


def mamba(fields: Fields, hidden: int) -> State:
    """A state-space layer of the first kind (Jamba)."""
    inner, numbers = fields.number("mamba_expand") * hidden, fields.number("mamba_d_state")
    kernel = fields.number("mamba_d_conv")
    rank = -(-hidden // 16) if fields.get("mamba_dt_rank") == "auto" else fields.number("mamba_dt_rank")
    weights = 3 * hidden * inner + inner * kernel + inner * (rank + 2 * numbers) + rank * inner + inner * numbers
    return State(weights, inner * (numbers + kernel))


def mamba2(fields: Fields, hidden: int) -> State:
    """A state-space layer of the second kind (Granite 4, Bamba, Falcon-H1, Nemotron-H)."""
    heads = fields.number("mamba_n_heads", "mamba_num_heads")
    expanded = fields.number("mamba_expand", "expand", default=2) * hidden
    if fields.get("mamba_d_head", "mamba_head_dim") in (None, "auto"):
        size = expanded // heads
    else:
        size = fields.number("mamba_d_head", "mamba_head_dim")
    # Heads of Nemotron-H, and of an inner width that is given, need not be as wide as the expanded layer.
    declared = fields.get("mamba_num_heads", "mamba_d_ssm") is not None
    if not declared and heads * size != expanded:
        raise ValueError(
            f"config {fields.name}: mamba_n_heads {heads} times mamba_d_head {size} is not mamba_expand times "
            f"hidden_size, {expanded}"
        )
    # Products in front of the state and behind it, and the convolution.
    groups = fields.number("mamba_n_groups", "n_groups")
    numbers, kernel = fields.number("mamba_d_state", "ssm_state_size"), fields.number("mamba_d_conv", "conv_kernel")
    inner = fields.number("mamba_d_ssm", default=heads * size)
    mixed = inner + 2 * groups * numbers
    weights = hidden * (inner + mixed + heads) + mixed * kernel + inner * hidden
    return State(weights, inner * numbers + mixed * kernel)


def short_convolution(fields: Fields, hidden: int) -> State:
    """A gated convolution over few tokens (LFM2)."""
    kernel = fields.number("conv_L_cache")
    # Files of LFM2 repeat the width and the heads under other names.
    heads = fields.number("num_attention_heads")
    for name, same in (("block_dim", hidden), ("conv_dim", hidden), ("conv_dim_out", hidden), ("num_heads", heads)):
        if fields.number(name, default=same) != same:
            raise fields.refusal(f"has {name} {fields.get(name)} where {same} is expected")
    return State(4 * hidden * hidden + hidden * kernel, hidden * kernel)
