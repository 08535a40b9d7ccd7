"""Token mixers of a layer: attention of three kinds, and layers that keep a state of fixed size."""

from __future__ import annotations

from typing import NamedTuple

from specsim.latency.configs.fields import Fields


class Attention(NamedTuple):
    """Attention of one layer: its heads, the weights of the products before and after it, and what it caches.

    queries, output: weights of the product that makes queries, keys and values, and of the one behind the heads.
    kv_rank, rope: numbers that multi-head latent attention (MLA) caches per token, 0 elsewhere. index_heads,
    index_size, index_topk: of the indexer of sparse attention, which picks the tokens that a query reads, 0 elsewhere.
    leaves: each matrix as (names, weights), with `|` between alternative names: ("q_proj|wq", 4096).
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

    blocks: names of the block that holds its matrices. leaves: as in `Attention`; none if its matrices are not told
    apart.
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
    """Return attention whose heads share keys and values in groups; ValueError where they cannot."""
    # Heads of queries, their width, and heads of keys and values, of which multi-query attention
    # has one.
    heads = fields.number("num_attention_heads", "n_head")
    size = fields.number("head_dim", "attention_head_dim", default=hidden // heads or 1)
    is_multi_query = fields.get("multi_query") and not fields.get("new_decoder_architecture")
    kv_fields = ("num_key_value_heads", "num_kv_heads", "num_query_groups")
    kv_heads = 1 if is_multi_query else fields.number(*kv_fields, default=heads)
    fields.read.update(kv_fields)
    if heads % kv_heads:
        raise ValueError(f"config {fields.name}: {heads} query heads cannot share {kv_heads} heads of the cache")
    if hidden % heads and fields.get("head_dim", "attention_head_dim") is None:
        raise ValueError(
            f"config {fields.name}: hidden_size {hidden} is no multiple of its {heads} heads; give head_dim"
        )

    # Weights: of queries and output, and of keys or values.
    wide, narrow = hidden * size * heads, hidden * size * kv_heads
    leaves = ((_Q, wide), (_K, narrow), (_V, narrow), (_O, wide))
    return Attention(heads, kv_heads, size, wide + 2 * narrow, wide, leaves=leaves)


def alike(fields: Fields, hidden: int) -> Attention:
    """Return attention of GPT-NeoX: as many heads of keys and values as of queries, whatever other fields say."""
    values = {**fields.values, "num_key_value_heads": None, "head_dim": None}
    return grouped(fields._replace(values=values), hidden)


def square_output(fields: Fields, hidden: int) -> Attention:
    """Return grouped attention whose output is as wide as the layer (Helium)."""
    plain = grouped(fields, hidden)
    return plain._replace(output=hidden * hidden, leaves=(*plain.leaves[:-1], (_O, hidden * hidden)))


def gated(fields: Fields, hidden: int) -> Attention:
    """Return grouped attention whose output is multiplied by a gate, made beside the queries."""
    plain = grouped(fields, hidden)
    if fields.get("attn_output_gate") is False:
        return plain
    leaves = ((_Q, 2 * plain.output), *plain.leaves[1:])
    return plain._replace(queries=plain.queries + plain.output, leaves=leaves)


def latent(fields: Fields, hidden: int) -> Attention:
    """Return multi-head latent attention: one compressed vector and one rotary key are cached per token."""
    # Sizes: of the compressed vector, of the rotary and the other part of a key, and of a value.
    heads = fields.number("num_attention_heads")
    fields.read.update(("num_key_value_heads", "head_dim", "qk_head_dim"))
    rank, rope = fields.number("kv_lora_rank"), fields.number("qk_rope_head_dim")
    plain, value = fields.number("qk_nope_head_dim"), fields.number("v_head_dim")

    # Queries are made at once, or from a compressed vector of their own.
    query_width = heads * (plain + rope)
    if fields.get("q_lora_rank") is None:
        queries = [("q_proj", hidden * query_width)]
    else:
        query_rank = fields.number("q_lora_rank")
        queries = [("q_a_proj|fused_qkv_a_proj", query_rank * hidden), ("q_b_proj", query_rank * query_width)]

    # Keys and values are made from the compressed vector; the output from the values.
    keys = [
        ("kv_a_proj_with_mqa|fused_qkv_a_proj|kv_a_proj", hidden * (rank + rope)),
        ("kv_b_proj", rank * heads * (plain + value)),
    ]
    num_before = sum(count for _, count in (*queries, *keys))
    output = heads * value * hidden
    return Attention(heads, 1, value, num_before, output, rank, rope, leaves=(*queries, *keys, ("o_proj", output)))


def indexed(fields: Fields, hidden: int) -> Attention:
    """Return latent attention that reads the tokens an indexer picks (DeepSeek sparse attention)."""
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
    """Return a layer of Gated DeltaNet (Qwen3-Next).

    It has queries, keys, values, a gate and two scalars a head, a convolution, and an output.
    """
    # Widths of all keys and all values; the convolution runs over queries, keys and values.
    keys = fields.number("linear_num_key_heads") * fields.number("linear_key_head_dim")
    heads, size = fields.number("linear_num_value_heads"), fields.number("linear_value_head_dim")
    kernel, values = fields.number("linear_conv_kernel_dim"), heads * size
    mixed = 2 * keys + values

    # Weights; the convolution's own are in no matrix that a quantization names.
    weights = hidden * (mixed + values + 2 * heads) + mixed * kernel + values * hidden
    leaves = (
        ("in_proj_qkv|in_proj_qkvz", hidden * mixed),
        ("in_proj_z|in_proj_qkvz", hidden * values),
        ("in_proj_b|in_proj_a|in_proj_ba", 2 * hidden * heads),
        ("out_proj", values * hidden),
    )

    # The state: a matrix of keys by values for each head, and the last inputs of the convolution.
    numbers = heads * fields.number("linear_key_head_dim") * size + mixed * kernel
    return State(weights, numbers, ("linear_attn",), leaves)


def delta_attention(fields: Fields, hidden: int) -> State:
    """Return a layer of Kimi delta attention.

    It has queries, keys, values, an output, and two gates through a product of low rank.
    """
    # Sizes, from a nested config or from fields beside it.
    config = fields.get("linear_attn_config", default={})
    config = config if isinstance(config, dict) else {}
    config_fields = Fields(config, fields.name, set(), {})
    size = config_fields.number("head_dim", default=0) or fields.number("linear_head_dim")
    heads = config_fields.number("num_heads", default=0) or fields.number("linear_num_heads")
    kernel = config_fields.number("short_conv_kernel_size", default=0) or fields.number("linear_conv_kernel_dim")
    fields.read.update(("linear_head_dim", "linear_num_heads", "linear_conv_kernel_dim"))

    # Weights, and the numbers of the state: a square matrix for each head, and the last inputs of
    # three convolutions.
    width = heads * size
    gates = 2 * (hidden * size + size * width) + hidden * heads
    weights = 4 * hidden * width + gates + 3 * width * kernel
    return State(weights, width * size + 3 * width * kernel, ("self_attn", "linear_attn"))


def lightning(fields: Fields, hidden: int) -> State:
    """Return a layer of lightning attention (MiniMax-01).

    Its queries, keys, values, gate and output are all as wide as the heads of queries.
    """
    plain = grouped(fields, hidden)
    return State(5 * plain.output, plain.heads * plain.head_dim**2, ("self_attn",))


def mamba(fields: Fields, hidden: int) -> State:
    """Return a state-space layer of the first kind (Jamba)."""
    # Channels, numbers of each channel's state, and the rank of the steps of time: a 16th of the
    # width, rounded up.
    inner, numbers = fields.number("mamba_expand") * hidden, fields.number("mamba_d_state")
    kernel = fields.number("mamba_d_conv")
    rank = -(-hidden // 16) if fields.get("mamba_dt_rank") == "auto" else fields.number("mamba_dt_rank")

    # Products in front of the state (two) and behind it, the convolution, and what makes the
    # recurrence.
    products, recurrence = 3 * hidden * inner, inner * (rank + 2 * numbers) + rank * inner + inner * numbers
    weights = products + inner * kernel + recurrence
    return State(weights, inner * (numbers + kernel), ("mamba",))


def mamba2(fields: Fields, hidden: int) -> State:
    """Return a state-space layer of the second kind (Granite 4, Bamba, Falcon-H1, Nemotron-H)."""
    # Heads and their width.
    heads = fields.number("mamba_n_heads", "mamba_num_heads")
    expanded = fields.number("mamba_expand", "expand", default=2) * hidden
    if fields.get("mamba_d_head", "mamba_head_dim") in (None, "auto"):
        size = expanded // heads
    else:
        size = fields.number("mamba_d_head", "mamba_head_dim")

    # In other configs than Nemotron-H's, and without a declared inner width, the heads fill the
    # expanded layer.
    declared = fields.get(fields.first("mamba_num_heads", "mamba_d_ssm")) is not None
    if not declared and heads * size != expanded:
        raise ValueError(
            f"config {fields.name}: mamba_n_heads {heads} times mamba_d_head {size} is not mamba_expand times "
            f"hidden_size, {expanded}"
        )

    # Products in front of the state and behind it, and the convolution over inputs and two
    # parameters of a state.
    groups = fields.number("mamba_n_groups", "n_groups")
    numbers, kernel = fields.number("mamba_d_state", "ssm_state_size"), fields.number("mamba_d_conv", "conv_kernel")
    inner = fields.number("mamba_d_ssm", default=heads * size)
    mixed = inner + 2 * groups * numbers
    weights = hidden * (inner + mixed + heads) + mixed * kernel + inner * hidden
    leaves = (("in_proj", hidden * (inner + mixed + heads)), ("out_proj", inner * hidden))
    return State(weights, inner * numbers + mixed * kernel, ("mamba", "mixer"), leaves)


def short_convolution(fields: Fields, hidden: int) -> State:
    """Return a gated convolution over few tokens (LFM2)."""
    kernel = fields.number("conv_L_cache")
    # Files of LFM2 repeat the width and the heads under other names.
    heads = fields.number("num_attention_heads")
    repeated = {"block_dim": hidden, "conv_dim": hidden, "conv_dim_out": hidden, "num_heads": heads}
    for name, expected in repeated.items():
        if fields.number(name, default=expected) != expected:
            raise fields.refusal(f"has {name} {fields.get(name)} where {expected} is expected")
    leaves = (("in_proj", 3 * hidden * hidden), ("out_proj", hidden * hidden))
    return State(4 * hidden * hidden + hidden * kernel, hidden * kernel, ("conv",), leaves)
