"""Families of decoders by model_type: which reader each part of a layer has, and defaults of fields left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from specsim.latency.configs import experts as moe
from specsim.latency.configs import kinds as layer_kinds
from specsim.latency.configs import mixers
from specsim.latency.configs.fields import Fields
from specsim.latency.configs.modules import Blocks

Width = Callable[[Fields, int], int]


def width(fields: Fields, hidden: int) -> int:
    """Return the width of a feed-forward block."""
    return fields.number("intermediate_size")


def fourfold(fields: Fields, hidden: int) -> int:
    """Return the width of a feed-forward block, four times that of the layer by default (GPT-2 and its generation)."""
    return fields.number("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size", default=4 * hidden)


def of_dense_layers(fields: Fields, hidden: int) -> int:
    """Return the width of the dense layers of Llama 4, which are wider than experts."""
    return fields.number("intermediate_size_mlp")


def shared(fields: Fields, hidden: int) -> int:
    """Return the width of the only block of Granite 4 without experts, that of the shared block."""
    return fields.number("shared_intermediate_size")


def rounded(fields: Fields, hidden: int) -> int:
    """Return the width of LFM2: two thirds of the declared width, times a factor, rounded up to a multiple."""
    declared = fields.number("intermediate_size", "block_ff_dim")
    multiple = fields.number("block_multiple_of", default=256)
    factor = fields.get("block_ffn_dim_multiplier", default=1.0)
    if fields.get("block_auto_adjust_ff_dim") is False:
        return declared
    adjusted = int(factor * int(2 * declared / 3))
    return multiple * -(-adjusted // multiple)


class Family(NamedTuple):
    """How the layers of a model_type are read.

    kinds: which layers attend to all tokens or to a window, and which keep a state. routed: which layers have experts.
    min_experts: a config that declares fewer experts is dense; with 0 no config is, and a declared 0 is refused.
    parallel: every layer has attention and a state beside each other. has_single_blocks: a layer is either a mixer or a
    feed-forward block (Nemotron-H), where others have both. known: fields that change nothing here. defaults: of fields
    that a file may leave out, beside those of `config_defaults.csv`. blocks: names of the blocks of a layer, which a
    quantization may name.
    """

    attention: Callable[[Fields, int], mixers.Attention] = mixers.grouped
    kinds: layer_kinds.Kinds = layer_kinds.everywhere
    state: Callable[[Fields, int], mixers.State] | None = None
    width: Width = width
    matrices: int = 3
    experts: moe.Reader | None = None
    routed: moe.Routed = moe.all_layers
    min_experts: int = 1
    parallel: bool = False
    has_single_blocks: bool = False
    known: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = MappingProxyType({})
    blocks: Blocks = Blocks()


_WINDOWS = Family(kinds=layer_kinds.by_pattern())
_QWEN = _WINDOWS._replace(defaults={"use_sliding_window": False})
_QWEN_MOE = Family(kinds=layer_kinds.unwindowed, experts=moe.behind_a_gate, routed=moe.every_step)
# Switches that transformers does not read.
_COHERE = ("use_parallel_block", "use_parallel_embedding", "use_gated_activation")
_GEMMA3 = {"vocab_size": 262208, "num_attention_heads": 8}
_OLD = Family(width=fourfold, matrices=2)
_MLA = Family(attention=mixers.latent, experts=moe.beside, routed=moe.after_dense, min_experts=0)
_SHARED = Family(experts=moe.beside, routed=moe.after_dense)
_NEXT = Family(mixers.gated, layer_kinds.every_nth, mixers.gated_delta)
_NEXT_MOE = _NEXT._replace(experts=moe.behind_a_gate, routed=moe.every_step)
_MAMBA = ("mamba_chunk_size", "mamba_conv_bias", "mamba_proj_bias", "mamba_expand")
_GRANITE = Family(
    kinds=layer_kinds.at_indices, state=mixers.mamba2, width=shared, experts=moe.shared_width, known=_MAMBA
)

FAMILIES: dict[str, Family] = {
    "": Family(experts=moe.generic, routed=moe.after_dense),
    **dict.fromkeys(("llama", "granite", "olmo", "olmo2", "internlm2", "internlm3", "stablelm"), Family()),
    **dict.fromkeys(
        ("smollm3", "hunyuan_v1_dense"), _QWEN._replace(known=("no_rope_layers", "no_rope_layer_interval"))
    ),
    **dict.fromkeys(("mistral", "ministral", "ministral3", "phi3"), _WINDOWS),
    "starcoder2": _WINDOWS._replace(matrices=2, known=("mlp_type",)),
    "qwen2": _QWEN,
    "qwen3": _QWEN,
    "gemma": Family(),
    "gemma2": Family(
        kinds=layer_kinds.by_pattern(2),
        known=("cache_implementation",),
    ),
    "gemma3_text": Family(
        kinds=layer_kinds.by_pattern(6, named=True), known=("cache_implementation",), defaults=_GEMMA3
    ),
    "cohere": Family(known=_COHERE),
    "cohere2": Family(
        kinds=layer_kinds.by_pattern(4, named=True), known=("layer_switch", "order_of_interleaved_layers", *_COHERE)
    ),
    "olmo3": Family(kinds=layer_kinds.by_pattern(4)),
    "exaone4": Family(kinds=layer_kinds.by_pattern(4, named=True)),
    **dict.fromkeys(("glm", "glm4", "seed_oss", "ernie4_5"), Family()),
    "helium": Family(mixers.square_output),
    **dict.fromkeys(("arcee", "apertus", "nemotron"), Family(matrices=2)),
    "phi": _OLD._replace(width=width),
    "gpt_neox": _OLD._replace(attention=mixers.alike, width=width),
    **dict.fromkeys(("gpt2", "gptj", "bloom"), _OLD),
    "opt": _OLD._replace(known=("do_layer_norm_before", "layer_norm_elementwise_affine", "enable_bias")),
    "falcon": _OLD._replace(known=("num_ln_in_parallel_attn", "parallel_attn", "alibi")),
    "gpt_bigcode": _OLD._replace(known=("attention_softmax_in_fp32",)),
    # Experts in every layer, or after some dense ones; with shared ones or without.
    **dict.fromkeys(("mixtral", "phimoe"), _WINDOWS._replace(experts=moe.plain, min_experts=0)),
    **dict.fromkeys(("olmoe", "flex_olmo", "granitemoe"), Family(experts=moe.plain, min_experts=0)),
    "granitemoeshared": Family(experts=moe.shared_width),
    "gpt_oss": Family(kinds=layer_kinds.by_pattern(2), experts=moe.plain, min_experts=0, known=("experts_per_token",)),
    "qwen2_moe": _QWEN_MOE,
    "qwen3_moe": _QWEN_MOE._replace(experts=moe.moe_width),
    "llama4_text": Family(
        kinds=layer_kinds.chunked,
        width=of_dense_layers,
        experts=moe.always_one,
        routed=moe.interleaved,
        known=("intermediate_size_mlp", "floor_scale", "use_irope", "for_llm_compressor", "cache_implementation"),
    ),
    "ernie4_5_moe": Family(experts=moe.beside, routed=moe.between, known=("moe_capacity", "moe_gate")),
    **dict.fromkeys(
        ("deepseek", "bailing_moe", "bailing_moe_v2"),
        _SHARED._replace(kinds=layer_kinds.by_pattern()),
    ),
    **dict.fromkeys(("glm4_moe", "dots1"), _SHARED._replace(kinds=layer_kinds.by_pattern(), min_experts=0)),
    "solar_open": Family(experts=moe.beside, min_experts=0),
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "kimi_k2"), _MLA),
    "glm4_moe_lite": _MLA._replace(routed=moe.after_one, defaults={"first_k_dense_replace": 1}),
    **dict.fromkeys(("deepseek_v32", "glm_moe_dsa"), _MLA._replace(attention=mixers.indexed)),
    "minimax_m2": Family(
        kinds=layer_kinds.all_ones,
        experts=moe.shared_width,
        min_experts=0,
        # Its file repeats fields of MiniMax-Text-01, which its code does not read.
        known=("mlp_intermediate_size", "shared_moe_mode"),
    ),
    # Layers with a state beside layers with attention.
    **dict.fromkeys(
        ("minimax", "minimax_text_01", "minimax_m1"),
        Family(
            mixers.grouped,
            layer_kinds.by_number,
            mixers.lightning,
            experts=moe.shared_width,
            min_experts=0,
            known=("block_size", "shared_moe_mode"),
        ),
    ),
    "qwen3_next": _NEXT_MOE,
    "qwen3_5_moe_text": _NEXT_MOE._replace(min_experts=0),
    "qwen3_5_text": _NEXT,
    "kimi_linear": _MLA._replace(kinds=layer_kinds.listed, state=mixers.delta_attention),
    "jamba": Family(
        kinds=layer_kinds.periodic,
        state=mixers.mamba,
        experts=moe.plain,
        routed=moe.periodic,
        min_experts=2,
        known=("mamba_conv_bias", "mamba_proj_bias", "use_mambapy", "use_associative_scan"),
    ),
    "granitemoehybrid": _GRANITE,
    "bamba": _GRANITE._replace(width=width, experts=None),
    "falcon_h1": Family(state=mixers.mamba2, parallel=True, known=(*_MAMBA, "mamba_use_mlp", "mlp_expansion_factor")),
    "nemotron_h": Family(
        kinds=layer_kinds.lettered,
        state=mixers.mamba2,
        matrices=2,
        experts=moe.wide_shared,
        has_single_blocks=True,
        known=(
            "chunk_size",
            "expand",
            "mtp_layers_block_type",
            "mtp_hybrid_override_pattern",
            "sliding_window",
            "moe_shared_expert_overlap",
        ),
    ),
    "lfm2": Family(kinds=layer_kinds.at_indices, state=mixers.short_convolution, width=rounded),
    "lfm2_moe": Family(
        kinds=layer_kinds.at_indices,
        state=mixers.short_convolution,
        experts=moe.moe_width,
        routed=moe.after_dense,
        min_experts=0,
    ),
}

# Families whose code calls the blocks of a layer otherwise.
_SPARSE, _FEEDS = Blocks(feed="block_sparse_moe"), Blocks(feed="feed_forward")
_BLOCKS = {
    **dict.fromkeys(("mixtral", "phimoe", "granitemoe", "granitemoeshared", "granitemoehybrid"), _SPARSE),
    **dict.fromkeys(("minimax", "minimax_text_01", "minimax_m1", "minimax_m2"), _SPARSE),
    **dict.fromkeys(("llama4_text", "jamba", "lfm2", "lfm2_moe", "bamba", "falcon_h1"), _FEEDS),
    **dict.fromkeys(("gpt2", "gptj", "gpt_bigcode"), Blocks("attn")),
    **dict.fromkeys(("gpt_neox", "bailing_moe", "bailing_moe_v2"), Blocks("attention")),
    **dict.fromkeys(("falcon", "bloom"), Blocks("self_attention")),
    **{"internlm2": Blocks("attention", "feed_forward"), "nemotron_h": Blocks("mixer", "mixer")},
}
FAMILIES |= {kind: FAMILIES[kind]._replace(blocks=blocks) for kind, blocks in _BLOCKS.items()}

# Configs that hold a decoder beside an encoder of pictures, and text decoders under another name.
ALIASES = {
    **{"gemma3": "gemma3_text", "llama4": "llama4_text", "qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text"},
    **{"qwen2_vl": "qwen2", "qwen2_5_vl": "qwen2", "qwen2_vl_text": "qwen2", "qwen2_5_vl_text": "qwen2"},
    **{"qwen3_vl": "qwen3", "qwen3_vl_text": "qwen3", "qwen3_vl_moe": "qwen3_moe", "qwen3_vl_moe_text": "qwen3_moe"},
    **{
        "mistral3": "mistral",
        "kimi_k25": "deepseek_v3",
        "MiniMaxText01": "minimax",
        "phi4": "phi3",
    },
}
