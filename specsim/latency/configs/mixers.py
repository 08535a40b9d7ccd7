"""Token mixers of a layer: attention of three kinds, and layers that keep a state of fixed size."""

from __future__ import annotations

from typing import NamedTuple

from specsim.latency.configs.fields import Fields


class Attention(NamedTuple):
    """Attention of one layer: its heads, the weights of the products before and after it, and what it caches.

    kv_rank, rope: numbers that multi-head latent attention (MLA) caches per token, 0 elsewhere. index_heads,
    index_size, index_topk: of sparse attention, an indexer that picks the tokens that a query reads, 0 elsewhere.
    leaves: its matrices by their names, of which `|` separates the alternatives, with the weights of each.
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
    leaves: tuple[tuple[str, int], ...] = ()


class State(NamedTuple):
    """A layer that keeps a state instead of a cache: its weights, and the numbers of the state of one sequence.

    blocks: how its block is called. leaves: as of `Attention`; none where its matrices are not told apart.
    """

    weights: int
    numbers: int
    blocks: tuple[str, ...] = ()
    leaves: tuple[tuple[str, int], ...] = ()


# Names of the matrices of attention, alone or joined.
_JOINED = "qkv_proj|query_key_value|c_attn|Wqkv|wqkv|W_pack"
_Q, _K, _V = f"q_proj|wq|{_JOINED}", f"k_proj|wk|{_JOINED}", f"v_proj|wv|{_JOINED}"
_O = "o_proj|wo|out_proj|dense|c_proj"


def grouped(fields: Fields, hidden: int) -> Attention:
    """Attention whose heads share keys and values in groups; ValueError where they cannot."""
    heads = fields.number("num_attention_heads", "n_head")
    size = fields.number("head_dim", "attention_head_dim", default=hidden // heads or 1)
    is_single = fields.get("multi_query") and not fields.get("new_decoder_architecture")
    of_cache = ("num_key_value_heads", "num_kv_heads", "num_query_groups")
    kv = 1 if is_single else fields.number(*of_cache, default=heads)
    fields.read.update(of_cache)
    if heads % kv:
        raise ValueError(f"config {fields.name}: {heads} query heads cannot share {kv} heads of the cache")
    if hidden % heads and fields.get("head_dim", "attention_head_dim") is None:
        raise ValueError(
            f"config {fields.name}: hidden_size {hidden} is no multiple of its {heads} heads; give head_dim"
        )
    wide, narrow = hidden * size * heads, hidden * size * kv
    leaves = ((_Q, wide), (_K, narrow), (_V, narrow), (_O, wide))
    return Attention(heads, kv, size, wide + 2 * narrow, wide, leaves=leaves)


def alike(fields: Fields, hidden: int) -> Attention:
    """Attention of GPT-NeoX: as many heads of keys and values as of queries, whatever other fields say."""
    values = {**fields.values, "num_key_value_heads": None, "head_dim": None}
    return grouped(fields._replace(values=values), hidden)


def square_output(fields: Fields, hidden: int) -> Attention:
    """Grouped attention whose output is as wide as the layer (Helium)."""
    plain = grouped(fields, hidden)
    return plain._replace(output=hidden * hidden, leaves=(*plain.leaves[:-1], (_O, hidden * hidden)))


def gated(fields: Fields, hidden: int) -> Attention:
    """Grouped attention whose output is multiplied by a gate, made beside the queries."""
    plain = grouped(fields, hidden)
    if fields.get("attn_output_gate") is False:
        return plain
    leaves = ((_Q, 2 * plain.output), *plain.leaves[1:])
    return plain._replace(queries=plain.queries + plain.output, leaves=leaves)


def latent(fields: Fields, hidden: int) -> Attention:
    """Multi-head latent attention: one compressed vector and one rotary key are cached per token."""
    heads = fields.number("num_attention_heads")
    fields.read.update(("num_key_value_heads", "head_dim", "qk_head_dim"))
    rank, rope, plain, value = (
        fields.number(name) for name in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
    )
    wide = heads * (plain + rope)
    compressed = fields.get("q_lora_rank")
    if compressed is None:
        queries = [("q_proj", hidden * wide)]
    else:
        narrow = fields.number("q_lora_rank")
        queries = [("q_a_proj|fused_qkv_a_proj", narrow * hidden), ("q_b_proj", narrow * wide)]
    keys = [
        ("kv_a_proj_with_mqa|fused_qkv_a_proj|kv_a_proj", hidden * (rank + rope)),
        ("kv_b_proj", rank * heads * (plain + value)),
    ]
    made = sum(count for _, count in (*queries, *keys))
    output = heads * value * hidden
    return Attention(heads, 1, value, made, output, rank, rope, leaves=(*queries, *keys, ("o_proj", output)))


def indexed(fields: Fields, hidden: int) -> Attention:
    """Latent attention that reads the tokens an indexer picks (DeepSeek sparse attention)."""
    plain = latent(fields, hidden)
    heads, size, topk = (fields.number(name) for name in ("index_n_heads", "index_head_dim", "index_topk"))
    if set(fields.entries("indexer_types") or ["full"]) != {"full"}:
        raise fields.refusal("has layers that share an indexer (indexer_types), which are not counted here")
    indexer = [
        ("indexer.wq_b", fields.number("q_lora_rank") * heads * size),
        ("indexer.wk", hidden * size),
        ("indexer.weights_proj", hidden * heads),
    ]
    queries = plain.queries + sum(count for _, count in indexer)
    sparse = plain._replace(index_heads=heads, index_size=size, index_topk=topk, leaves=(*plain.leaves, *indexer))
    return sparse._replace(queries=queries)


def gated_delta(fields: Fields, hidden: int) -> State:
    """Gated DeltaNet (Qwen3-Next): queries, keys, values, a gate and two scalars a head; a convolution; an output."""
    keys = fields.number("linear_num_key_heads") * fields.number("linear_key_head_dim")
    heads, size = fields.number("linear_num_value_heads"), fields.number("linear_value_head_dim")
    kernel, values = fields.number("linear_conv_kernel_dim"), heads * size
    mixed = 2 * keys + values
    weights = hidden * (mixed + values + 2 * heads) + mixed * kernel + values * hidden
    leaves = (
        ("in_proj_qkv|in_proj_qkvz", hidden * mixed),
        ("in_proj_z|in_proj_qkvz", hidden * values),
        ("in_proj_b|in_proj_a|in_proj_ba", 2 * hidden * heads),
        ("out_proj", values * hidden),
    )
    numbers = heads * fields.number("linear_key_head_dim") * size + mixed * kernel
    return State(weights, numbers, ("linear_attn",), leaves)


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
    weights = 4 * hidden * wide + gates + 3 * wide * kernel
    return State(weights, wide * size + 3 * wide * kernel, ("self_attn", "linear_attn"))


def lightning(fields: Fields, hidden: int) -> State:
    """Lightning attention (MiniMax-01): queries, keys, values, a gate and an output, all of the query heads."""
    plain = grouped(fields, hidden)
    return State(5 * plain.output, plain.heads * plain.head_dim**2, ("self_attn",))


def mamba(fields: Fields, hidden: int) -> State:
    """A state-space layer of the first kind (Jamba)."""
    inner, numbers = fields.number("mamba_expand") * hidden, fields.number("mamba_d_state")
    kernel = fields.number("mamba_d_conv")
    rank = -(-hidden // 16) if fields.get("mamba_dt_rank") == "auto" else fields.number("mamba_dt_rank")
    weights = 3 * hidden * inner + inner * kernel + inner * (rank + 2 * numbers) + rank * inner + inner * numbers
    return State(weights, inner * (numbers + kernel), ("mamba",))


def mamba2(fields: Fields, hidden: int) -> State:
    """A state-space layer of the second kind (Granite 4, Bamba, Falcon-H1, Nemotron-H)."""
    heads = fields.number("mamba_n_heads", "mamba_num_heads")
    expanded = fields.number("mamba_expand", "expand", default=2) * hidden
    if fields.get("mamba_d_head", "mamba_head_dim") in (None, "auto"):
        size = expanded // heads
    else:
        size = fields.number("mamba_d_head", "mamba_head_dim")
    # Heads of Nemotron-H, and of an inner width that is given, need not be as wide as the expanded layer.
    declared = fields.get(fields.first("mamba_num_heads", "mamba_d_ssm")) is not None
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
    leaves = (("in_proj", hidden * (inner + mixed + heads)), ("out_proj", inner * hidden))
    return State(weights, inner * numbers + mixed * kernel, ("mamba", "mixer"), leaves)


def short_convolution(fields: Fields, hidden: int) -> State:
    """A gated convolution over few tokens (LFM2)."""
    kernel = fields.number("conv_L_cache")
    # Files of LFM2 repeat the width and the heads under other names.
    heads = fields.number("num_attention_heads")
    for name, same in (("block_dim", hidden), ("conv_dim", hidden), ("conv_dim_out", hidden), ("num_heads", heads)):
        if fields.number(name, default=same) != same:
            raise fields.refusal(f"has {name} {fields.get(name)} where {same} is expected")
    leaves = (("in_proj", 3 * hidden * hidden), ("out_proj", hidden * hidden))
    return State(4 * hidden * hidden + hidden * kernel, hidden * kernel, ("conv",), leaves)
