"""Fields of a config.json that change neither matrices nor caches: by whole names, never by a part of one."""

from __future__ import annotations

import re
from typing import Any

# Names of single fields.
_NAMES = frozenset({
    # The file and its tokens.
    "architectures", "auto_map", "auto_class", "model_type", "model_name", "transformers_version", "torch_dtype",
    "dtype", "torchscript", "return_dict", "id2label", "label2id", "problem_type", "pruned_heads", "num_labels",
    "tie_word_embeddings", "tie_encoder_decoder", "use_cache", "pad_id", "eos_id", "bos_id", "chat_template",
    "unsloth_version", "unsloth_fixed", "pretraining_tp", "ep_size", "summary_activation", "summary_type",
    "summary_first_dropout", "summary_proj_to_labels", "summary_use_proj", "num_logits_to_keep", "keys_to_ignore",
    "version", "speculators_version", "temperature", "max_new_tokens", "output_scores", "return_dict_in_generate",
    "bad_words_ids",
    # How weights are stored, which `declared_weights` and `declared_cache` read.
    "quantization_config", "quantization", "kv_cache_dtype", "expert_dtype",
    # How weights were drawn and trained.
    "initializer_range", "initializer_factor", "init_std", "init_method", "init_cutoff_factor", "init_device",
    "init_scale", "gradient_checkpointing", "layerdrop", "rescale_prenorm_residual", "neftune_noise_alpha",
    "input_jitter_noise", "router_jitter_noise", "jitter_noise", "z_loss_coefficient", "aux_loss_alpha",
    "moe_aux_loss_lambda", "multi_token_pred_lambda", "seq_aux", "use_aux_loss", "block_mlp_init_scale",
    "block_out_init_scale", "block_use_xavier_init", "conv_use_xavier_init", "embedding_initializer_range",
    # Norms, activations and factors.
    "norm_type", "qk_norm_type", "norm_topk_prob", "normalization_function", "mamba_rms_norm", "block_use_swiglu",
    "mamba_norm_before_gate", "moe_norm_min", "use_qk_norm", "qk_norm", "post_norm", "postnorm", "use_rmsnorm",
    "rms_norm", "qk_layernorm", "layer_norm_elementwise_affine", "norm_head", "norm_softmax", "do_layer_norm_before",
    "apply_residual_connection_post_layernorm", "use_parallel_residual", "residual_in_fp32", "clip_qkv",
    "attn_logit_softcapping", "final_logit_softcapping", "final_logit_softcap", "attn_logit_softcap",
    "query_pre_attn_scalar", "logit_scale", "logits_scaling", "scale_attn_weights", "attn_scale", "floor_scale",
    "scale_depth", "scale_emb", "scale_embedding", "dim_model_base", "scale_attn_by_inverse_layer_idx",
    "attn_temperature_tuning", "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "softmax_in_fp32",
    "reorder_and_upcast_attn", "masked_softmax_fusion", "bias_dropout_fusion", "skip_bias_add", "skip_bias_add_qkv",
    "embedding_multiplier", "residual_multiplier", "attention_multiplier", "attention_in_multiplier",
    "attention_out_multiplier", "key_multiplier", "lm_head_multiplier", "mlp_multipliers", "ssm_in_multiplier",
    "ssm_multipliers", "ssm_out_multiplier", "mlp_alpha_factor", "mlp_beta_factor", "full_attn_alpha_factor",
    "full_attn_beta_factor", "linear_attn_alpha_factor", "linear_attn_beta_factor", "swiglu_limit", "swiglu_alpha",
    # How tokens find their experts.
    "n_group", "topk_group", "num_expert_group", "topk_method", "scoring_func", "score_function", "score_func",
    "routed_scaling_factor", "router_scaling_factor", "moe_router_topk_scaling_factor", "moe_renormalize",
    "moe_router_activation_func", "moe_router_enable_expert_bias", "moe_router_enable_routed_scaling",
    "moe_router_enable_shared_expert", "moe_router_score_function", "use_grouped_topk", "group_limited_greedy",
    "router_dtype", "router_bias", "use_routing_bias", "use_expert_bias", "moe_use_aux_free", "route_norm",
    "route_scale", "moe_router_use_sigmoid", "normalize_expert_weights", "norm_topk_weights",
    # Positions.
    "rope_theta", "rope_scaling", "rope_parameters", "rope_type", "rope_interleave", "rope_interleaved", "rope_ratio",
    "rope_local_base_freq", "rope_pct", "rope_traditional", "rope_scaling_layers", "swa_rope_theta", "rope_3d",
    "global_rope_theta", "local_rope_theta", "rope_global_base_freq", "indexer_rope_interleave", "rotary",
    "rotary_dim", "rotary_pct", "rotary_percent", "rotary_percentage", "rotary_base", "rotary_emb_base",
    "rotary_emb_fraction", "rotary_emb_interleaved", "rotary_emb_scale_base", "partial_rotary_factor", "theta",
    "no_rope_layers", "no_rope_layer_interval", "position_embedding_type", "position_embeddings_type", "use_pos_enc",
    "offset_alibi", "alibi_bias_max", "mla_use_nope", "mrope_interleaved", "use_mrope", "max_sequence_length",
    "max_seq_len", "max_seq_length", "max_model_len", "max_length", "max_position_embeddings", "model_max_length",
    "original_max_position_embeddings", "seq_length", "seq_len", "use_dynamic_ntk", "use_logn_attn",
    # States: steps of time, and which code runs.
    "mamba_dt_rank", "time_step_rank", "time_step_floor", "time_step_limit", "time_step_max", "time_step_min",
    "time_step_init_scheme", "time_step_scale", "mamba_dt_init", "mamba_dt_min", "mamba_dt_max", "mamba_dt_scale",
    "mamba_dt_init_floor", "mamba_dt_limit", "use_mamba_kernels", "slow_but_exact", "onnx_safe", "is_causal",
})  # fmt: skip
# Whole names of one form. No size has such a name.
_FORMS = re.compile(
    r"([a-z0-9_]*_)?((layer_?|rms_?)?norm_)?(eps|epsilon)"
    r"|[a-z0-9_]*_token_(id|ids|index)|[a-z0-9_]*dropout(_p|_prob|_rate|_ratio)?|(attn|embd|emb|resid|ffn)_pdrop"
    r"|[a-z0-9_]*_loss_(coef|coeff|coefficient|alpha|weight|factor|scaling_factor)"
    r"|output_(attentions|hidden_states|router_logits)"
    r"|layernorm_(full_attention|linear_attention|mlp)_(alpha|beta)"
)
# Forms of names whose value is a switch, and of names whose value is a word.
_SWITCHES = re.compile(r"([a-z0-9_]*_)?(bias|norm|layer_?norm)")
_WORDS = re.compile(
    r"([a-z0-9_]*_)?(act|act_fn|activation|activation_func|activation_function|hidden_act)|output_gate_type"
)
# Names whose field says what is assumed anyway, by that value: states are kept in 32 bits.
_ASSUMED = {"mamba_ssm_dtype": "float32", "mamba_ssm_cache_dtype": "float32"}


def is_harmless(name: str, value: Any) -> bool:
    """Return whether a field changes neither matrices nor caches.

    Examples
    --------
    >>> is_harmless("residual_multiplier", 0.22), is_harmless("ffn_multipliers", [0.5, 4.0])
    (True, False)
    """
    if name in _NAMES or _FORMS.fullmatch(name) or _ASSUMED.get(name, ...) == value:
        return True
    if isinstance(value, bool):
        return _SWITCHES.fullmatch(name) is not None
    return isinstance(value, str) and _WORDS.fullmatch(name) is not None
