"""The fields of a config.json: each under all its names, with a record of which ones were read."""

from __future__ import annotations

import json
import re
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from specsim.base import check
from specsim.base.reading import read_json
from specsim.latency.gguf_config import gguf_config, stored_bits
from specsim.latency.gguf_header import is_gguf, read_header

# A config of thousands of modules with types of their own has some MB.
MOST_BYTES = 1 << 26

WAY_ON = (
    "what works without it: specsim plan --cost-ratio (a draft step over a target step, as measured) with --alpha or "
    "--hazards; specsim diagnose (two logs); specsim-real compare; in Python a ModelShape by hand"
)

# Fields that change neither matrices nor caches, by parts of their names.
_HARMLESS = re.compile(
    r"norm|loss|coef|drop|bias|(^|_)eps$|epsilon|init|jitter|router|score|scoring|scal|_act$|activation|dtype|token_id"
    r"|rope|rotary|theta|temperature|logit|softcap|clip|version|map$|template|multiplier|max_length|max_position"
    r"|position_embedding|max_seq|use_cache|return_dict|output_|label|problem_type|pruned|torchscript|time_step|_dt_"
    r"|pretraining_tp|kernels|n_group|topk_group|topk_method|expert_group|aux|ep_size|causal|swiglu|alpha|beta"
    r"|residual|rescale|summary|seq_length|interleave$|softmax|special|generation|tie_|architectures|model_type|auto_|limit|quant"
)
# Ends of names that say which layers there are, or how many, whatever else is in the name, such as `rope_layers`.
_COUNTS = re.compile(r"(layers?|experts?|ranks?|blocks?|heads|streams|steps|loops?|depth)(_list|_ids|_idx|_indices)?$")
# Fields with such an end that change neither matrices nor caches all the same.
_HARMLESS_COUNTS = {
    *("no_rope_layers", "rope_scaling_layers", "scale_depth", "scale_attn_by_inverse_layer_idx"),
    *("mamba_dt_rank", "time_step_rank"),
}
# Fields of any family that do not concern the layers counted here.
_KNOWN = {
    *("num_nextn_predict_layers", "num_mtp_modules", "mtp_transformer_layers", "mtp_num_hidden_layers"),
    *("mtp_use_dedicated_embeddings", "chunk_size_feed_forward", "attn_implementation", "n_positions", "n_ctx"),
    *("vision_config", "audio_config", "is_decoder", "is_encoder_decoder", "add_cross_attention", "head_bias"),
    *("compression_config", "context_length", "use_flash_attn", "flash_attn_version", "attn_impl", "use_mtp"),
    *("context_window_size", "prefill_chunk_size", "is_llama_config", "transformers.js_config"),
    # How texts are drawn, which old files hold too.
    *("do_sample", "early_stopping", "num_beams", "num_beam_groups", "length_penalty", "num_return_sequences"),
    *("repetition_penalty", "top_k", "top_p", "typical_p", "min_length", "diversity_penalty", "no_repeat_ngram_size"),
    *("remove_invalid_values", "exponential_decay_length_penalty", "use_bfloat16", "prefix", "finetuning_task"),
    *(
        "tokenizer_class",
        "task_specific_params",
        "initial_context_length",
        "ignore_index",
        "use_bidirectional_attention",
    ),
}
# Fields whose value 1 means that every layer is alike.
_EVERY = {
    *("moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step", "expert_layer_period"),
    *("full_attn_mod", "interpolate_factor"),
}
# Parts of names that say which layers there are, what they hold and what they cache.
_STRUCTURE = re.compile(
    r"layer|block|head|expert|moe|mamba|ssm|rank|linear|sparse|index|recurr|hybrid|interval|period|pattern|conv"
    r"|state|width|share|window|attn|attention|encoder|size|dim|latent|memory|freq|chunk|depth|rwkv|gate|branch|dense"
)


# Fields whose value null means that there are none, or as many as of something else. For any other field the code of
# a model_type needs a number, and null does not leave it out.
_NULLABLE = {
    *("num_key_value_heads", "num_kv_heads", "head_dim", "attention_head_dim", "word_embed_proj_dim"),
    *("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "moe_latent_size"),
    *("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert", "mamba_d_ssm"),
    "moe_shared_expert_intermediate_size",
    *("linear_attn_config", "layers_block_type", "n_inner", "ffn_dim"),
}


class Fields(NamedTuple):
    """The fields of one decoder; `read` collects the names that a reader asked for.

    left_out: fields whose values are defaults, each with whether a reader took it. nulls: fields that are null.
    """

    values: dict[str, Any]
    name: str
    read: set[str]
    left_out: dict[str, bool]
    nulls: frozenset[str] = frozenset()

    def get(self, *names: str, default: Any = None) -> Any:
        """The value of the first of these fields that is there and not null."""
        self.read.update(names)
        name = next((name for name in names if self.values.get(name) is not None), None)
        if name is None and default is not None:
            self._check_null(names)
        return default if name is None else self._taken(name)

    def _taken(self, name: str) -> Any:
        """The value of a field, with a record that a default was taken."""
        if name in self.left_out:
            self.left_out[name] = True
        return self.values[name]

    def number(self, *names: str, default: int | None = None) -> int:
        """A whole number; the default where no field is there, ValueError where there is no default."""
        self.read.update(names)
        for name in names:
            if self.values.get(name) is not None:
                least = 0 if default == 0 else 1
                return check.integer(self._taken(name), f"config {self.name}: {name}", least)
        if default is None:
            has = ", ".join(sorted(name for name in self.values if name not in self.left_out))
            raise ValueError(f"config {self.name} has no {' or '.join(names)}; its fields: {has}; {WAY_ON}")
        self._check_null(names)
        return default

    def _check_null(self, names: tuple[str, ...]) -> None:
        """ValueError if one of these fields is null where the code of its model_type needs a number."""
        for name in names:
            if name in self.nulls and name not in _NULLABLE:
                raise self.refusal(f"has {name} null, of which the code of its model_type needs a number; give it")

    def entries(self, *names: str) -> list[Any] | None:
        """A list; None where no field is there."""
        value = self.get(*names)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            shown = next(name for name in names if self.values.get(name) is not None)
            raise ValueError(f"config {self.name}: {shown} is a {type(value).__name__}, not a list")
        return list(value)

    def indices(self, *names: str, layers: int) -> list[int] | None:
        """A list of layers, counted from 0; None where no field is there."""
        layer_list = self.entries(*names)
        shown = next((name for name in names if self.values.get(name) is not None), "")
        for i, value in enumerate(layer_list or ()):
            place = f"config {self.name}: {shown}[{i}]"
            if check.integer(value, place, 0) >= layers:
                raise ValueError(f"{place} is {value}; the layers are 0 to {layers - 1}")
        return layer_list

    def refusal(self, why: str) -> ValueError:
        """An error that says what is not counted, and how to go on."""
        return ValueError(f"config {self.name} {why}; {WAY_ON}")


def unread(fields: Fields) -> tuple[str, ...]:
    """Fields that no reader asked for and that may matter; ValueError for one that says what layers hold or cache."""
    left = {
        name: value
        for name, value in fields.values.items()
        if name not in fields.read | _KNOWN and not _is_harmless(name) and name[:1] != "_" and _says(name, value)
    }
    for name, value in left.items():
        if _STRUCTURE.search(name) or _COUNTS.search(name):
            kind = fields.values.get("model_type") or "none"
            shown = json.dumps(value, default=str)
            shown = shown if len(shown) <= 40 else f"{shown[:40]}..."
            raise fields.refusal(f"has {name} ({shown}), which is not understood of model_type {kind}")
    return tuple(sorted(left))


def _is_harmless(name: str) -> bool:
    """Return whether a field changes neither matrices nor caches, by its name."""
    says_layers = _COUNTS.search(name) and name not in _HARMLESS_COUNTS
    return bool(_HARMLESS.search(name)) and not says_layers


def _says(name: str, value: Any) -> bool:
    """Return whether a field says anything: it is neither off nor empty."""
    if name in _EVERY and value == 1:
        return False
    return value is not None and value is not False and value != [] and value != {} and value != 0 and value != ""


def read(config: str | PathLike[str] | dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The fields of a config, and a name for it; ValueError for a file that cannot be read."""
    # A dict, a GGUF file, a folder or a file.
    if isinstance(config, dict):
        return config, str(config.get("_name_or_path") or config.get("model_type") or "model")
    path = Path(config)
    if is_gguf(path):
        header = read_header(path)
        return gguf_config(header) | {"quantization_config": stored_bits(header)}, path.stem
    path = path / "config.json" if path.is_dir() else path
    try:
        values = read_json(path, MOST_BYTES, f"config {path}")
    except OSError as error:
        raise ValueError(f"config {path} cannot be read: {error.strerror}") from None
    if not isinstance(values, dict):
        raise ValueError(f"config {path} holds a {type(values).__name__}, not an object")
    # A quantization may be described beside it; a file called config.json is named by its folder.
    if path.name == "config.json" and not values.get("quantization_config"):
        values = {**values, **_beside(path)}
    return values, path.parent.name or path.stem if path.name == "config.json" else path.stem


def _beside(path: Path) -> dict[str, Any]:
    """The quantization_config that modelopt writes into a file beside the config; {} without it."""
    try:
        held = read_json(path.parent / "hf_quant_config.json", MOST_BYTES, "hf_quant_config.json")
    except OSError:
        return {}
    quantization = held.get("quantization") if isinstance(held, dict) else None
    return {"quantization_config": quantization} if isinstance(quantization, dict) else {}
