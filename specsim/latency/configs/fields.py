"""The fields of a config.json: each under all its names, with a record of which ones were read."""

from __future__ import annotations

import json
import re
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from specsim.base import check
from specsim.base.reading import read_json
from specsim.latency.configs.harmless import is_harmless
from specsim.latency.gguf_config import gguf_config, stored_bits
from specsim.latency.gguf_header import is_gguf, read_header

# A config of thousands of modules with types of their own has some MB.
MOST_BYTES = 1 << 26

WAY_ON = (
    "what works without it: specsim plan --cost-ratio (a draft step over a target step, as measured) with ALPHA or "
    "--hazards; specsim diagnose (two logs); specsim-real compare; in Python a ModelShape by hand"
)

# Ends of names that say which layers there are, or how many, whatever else is in the name, such as `rope_layers`.
_COUNTS = re.compile(r"(layers?|experts?|ranks?|blocks?|heads|streams|steps|loops?|depth)(_list|_ids|_idx|_indices)?$")
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
    r"|ffn|mlp|(^|_)kv(_|$)"
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
        """Return the value of the first of these fields that is there and not null, else the default."""
        self.read.update(names)
        self.check_alike(names)
        name = next((name for name in names if self.values.get(name) is not None), None)
        if name is None and default is not None:
            self._check_null(names)
        return default if name is None else self._taken(name)

    def first(self, *names: str) -> str:
        """Return the name of the first of these fields that is there and not null; else the last name.

        The fields have different meanings. Names that are passed to `get` and `number` together mean the same, and must
        agree.
        """
        self.read.update(names)
        return next((name for name in names if self.values.get(name) is not None), names[-1])

    def check_alike(self, names: tuple[str, ...]) -> None:
        """Raise ValueError if two names of one number have different values in the file."""
        present = {
            name: self.values[name] for name in names if self.values.get(name) is not None and name not in self.left_out
        }
        if len(set(map(str, present.values()))) > 1:
            named = " and ".join(f"{name} {value}" for name, value in present.items())
            raise ValueError(f"config {self.name} has {named}, which say the same; leave out one of them")

    def _taken(self, name: str) -> Any:
        """Return the value of a field; record that its default was taken if the file leaves it out."""
        if name in self.left_out:
            self.left_out[name] = True
        return self.values[name]

    def number(self, *names: str, default: int | None = None) -> int:
        """Return a whole number; without any of the fields the default, ValueError without a default."""
        self.read.update(names)
        self.check_alike(names)
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
        """Raise ValueError if one of these fields is null where the code of its model_type needs a number."""
        for name in names:
            if name in self.nulls and name not in _NULLABLE:
                raise self.refusal(f"has {name} null, of which the code of its model_type needs a number; give it")

    def entries(self, *names: str) -> list[Any] | None:
        """Return a list; None without any of the fields."""
        value = self.get(*names)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            shown = next(name for name in names if self.values.get(name) is not None)
            raise ValueError(f"config {self.name}: {shown} is a {type(value).__name__}, not a list")
        return list(value)

    def indices(self, *names: str, layers: int) -> list[int] | None:
        """Return a list of layers, counted from 0; None without any of the fields."""
        layer_list = self.entries(*names)
        shown = next((name for name in names if self.values.get(name) is not None), "")
        for i, value in enumerate(layer_list or ()):
            place = f"config {self.name}: {shown}[{i}]"
            if check.integer(value, place, 0) >= layers:
                raise ValueError(f"{place} is {value}; the layers are 0 to {layers - 1}")
        return layer_list

    def refusal(self, why: str) -> ValueError:
        """Return an error that says what is not counted, and how to go on."""
        return ValueError(f"config {self.name} {why}; {WAY_ON}")


def unread(fields: Fields) -> tuple[str, ...]:
    """Return fields that no reader asked for and that may matter.

    Raise ValueError for one whose name says that it is about what layers are, hold or cache.
    """
    # Fields that may matter: not read, not known to be harmless, not private, and not empty.
    unread_values = {
        name: value
        for name, value in fields.values.items()
        if name not in fields.read | _KNOWN and not is_harmless(name, value) and name[:1] != "_"
    }
    doubtful = {name: value for name, value in unread_values.items() if _has_content(name, value)}
    # Refuse those about the structure of the model.
    for name, value in doubtful.items():
        if _STRUCTURE.search(name) or _COUNTS.search(name):
            kind = fields.values.get("model_type") or "none"
            shown = json.dumps(value, default=str)
            shown = shown if len(shown) <= 40 else f"{shown[:40]}..."
            refused = fields.refusal(f"has {name} ({shown}), which is not understood of model_type {kind}")
            raise ValueError(f"{refused}; if it changes neither matrices nor caches, a copy of the file without it")
    return tuple(sorted(doubtful))


def check_nested(outer: dict[str, Any], inner: dict[str, Any], name: str) -> None:
    """Raise ValueError if a config and its text_config have different values of one field that is counted."""
    for key in sorted(set(outer) & set(inner) - _KNOWN - {"layer_types"}):
        outside, inside = outer[key], inner[key]
        differ = outside != inside and outside is not None and inside is not None and not isinstance(outside, dict)
        if differ and not is_harmless(key, outside) and key[:1] != "_":
            raise ValueError(
                f"config {name} has {key} {outside!r:.40}, and in text_config {inside!r:.40}; make them agree, or "
                "leave out the first"
            )


def _has_content(name: str, value: Any) -> bool:
    """Return whether a field says anything: it is neither off nor empty, and does not repeat that layers are alike."""
    if name in _EVERY and value == 1:
        return False
    return value is not None and value is not False and value != [] and value != {} and value != 0 and value != ""


def read(config: str | PathLike[str] | dict[str, Any]) -> tuple[dict[str, Any], str, str]:
    """Return the fields of a config, its model's name, and a name for messages; ValueError for a bad file."""
    # A dict, a GGUF file, a folder or a file.
    if isinstance(config, dict):
        name = str(config.get("_name_or_path") or config.get("model_type") or "model")
        return config, name, name
    path = Path(config)
    if is_gguf(path):
        header = read_header(path)
        return gguf_config(header) | {"quantization_config": stored_bits(header)}, path.stem, str(path)
    path = path / "config.json" if path.is_dir() else path
    try:
        values = read_json(path, MOST_BYTES, f"config {path}")
    except OSError as error:
        raise ValueError(f"config {path} cannot be read: {error.strerror}") from None
    if not isinstance(values, dict):
        raise ValueError(f"config {path} holds a {type(values).__name__}, not an object")
    if path.name != "config.json":
        return values, path.stem, str(path)
    # A quantization may be described beside a file of this name; the model is named by its folder.
    return _with_modelopt_file(values, path.parent), path.absolute().parent.name or path.stem, str(path)


def _with_modelopt_file(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the fields of a config, completed by the quantization in hf_quant_config.json of the same folder.

    modelopt writes that file. What the config itself says of its quantization counts first.
    """
    # The quantization in the file, if there is such a file.
    try:
        content = read_json(folder / "hf_quant_config.json", MOST_BYTES, "hf_quant_config.json")
    except OSError:
        return values
    modelopt = content.get("quantization") if isinstance(content, dict) else None
    if not isinstance(modelopt, dict):
        return values
    # It is all that is known if the config describes none.
    described = values.get("quantization_config")
    if not described:
        return {**values, "quantization_config": modelopt}
    # Else only the type of the cache is taken from it, if the config does not say that.
    cache = modelopt.get("kv_cache_quant_algo")
    lacks_cache = isinstance(described, dict) and not {"kv_cache_quant_algo", "kv_cache_scheme"} & set(described)
    if cache and lacks_cache:
        return {**values, "quantization_config": {**described, "kv_cache_quant_algo": cache}}
    return values
