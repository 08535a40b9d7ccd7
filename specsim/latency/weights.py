"""Bits in which weights are stored: by name, by the block layouts of GGUF, or by a config.json."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from specsim.latency.configs.experts import NUMBER


class Weights(NamedTuple):
    """A type of stored weights: bits of a parameter of the layers, of experts (0: as the layers), of the head.

    Examples
    --------
    >>> TYPES["q8_0"].layers, TYPES["q4_k_m"].head
    (8.5, 6.5625)
    """

    name: str
    layers: float
    head: float
    experts: float = 0.0

    @property
    def expert_bits(self) -> float:
        """Bits of a parameter of an expert."""
        return self.experts or self.layers

    def bytes_of(self, body: float, head: float, experts: float = 0.0) -> float:
        """Bytes of a model: of all its layers, `experts` of them in experts, and of its head."""
        return (self.layers * (body - experts) + self.expert_bits * experts + self.head * head) / 8


def _uniform(name: str, bits: float) -> Weights:
    """A type with the same bits in layers and head."""
    return Weights(name, bits, bits)


# Blocks of GGUF: bytes of a block over its weights. 32 weights of Q8_0 are 32 bytes and a scale of 2; 256 of Q4_K are
# 128 bytes, 12 of scales and minima, and 4 of their scales; 256 of Q6_K 128 + 64 bytes, 16 scales and one of 2.
_Q8_0, _Q4_0, _Q4_K = 8 * 34 / 32, 8 * 18 / 32, 8 * 144 / 256
_Q5_K, _Q6_K, _MXFP4, _MXFP8 = 8 * 176 / 256, 8 * 210 / 256, 8 * 17 / 32, 8 * 33 / 32
# The mixes keep the values and the down products of half of the layers, and the head, in Q6_K. These are 28.5 % (Llama
# 3.1 8B) to 29.4 % (Llama 3.2 1B) of a layer's weights. With the head Q4_K_M is 4.8 to 4.9 bits in all.
_MIXED = 0.29 / 2

TYPES: dict[str, Weights] = {
    **{name: _uniform(name, 16.0) for name in ("bf16", "fp16")},
    **{name: _uniform(name, 8.0) for name in ("fp8", "int8")},
    **{name: _uniform(name, 4.0) for name in ("fp4", "int4")},
    "mxfp4": _uniform("mxfp4", _MXFP4),
    # 16 weights share a scale of 8 bits.
    "nvfp4": _uniform("nvfp4", 4.5),
    "q8_0": _uniform("q8_0", _Q8_0),
    "q6_k": _uniform("q6_k", _Q6_K),
    "q5_k_m": Weights("q5_k_m", _Q5_K + _MIXED * (_Q6_K - _Q5_K), _Q6_K),
    "q4_k_m": Weights("q4_k_m", _Q4_K + _MIXED * (_Q6_K - _Q4_K), _Q6_K),
    "q4_0": Weights("q4_0", _Q4_0, _Q6_K),
}

# How engines store a model under these names: the head stays in 16 bits, and 128 weights in 4 bits (AWQ, GPTQ) share a
# scale of 16 bits and a zero point of 4.
STORED: dict[str, Weights] = {
    "int4": Weights("int4", 4 + 20 / 128, 16.0),
    "int8": Weights("int8", 8.0, 16.0),
    "fp8": Weights("fp8", 8.0, 16.0),
}


def weights_named(name: str, argument: str) -> Weights:
    """The type in which engines store a model under that name; capitals do not matter. ValueError lists the names."""
    key = str(name).lower().replace("-", "_")
    weights = STORED.get(key) or TYPES.get(key)
    if weights is None:
        raise ValueError(f"{argument} must be one of {', '.join(TYPES)}; got {name!r}")
    return weights


def declared_weights(values: dict[str, Any], name: str) -> Weights | None:
    """The type in which a model's weights are stored, by its config; None if that does not say.

    A quantization that is not understood has 0 bits, and its name says which it is.
    """
    # Where the config describes its quantization.
    inner = values.get("text_config")
    inner = inner if isinstance(inner, dict) else {}
    places = (*(values.get(place) for place in _PLACES), inner.get("quantization_config"))
    quantization = next((place for place in places if place), None)
    if quantization is None:
        return None
    if not isinstance(quantization, dict):
        raise ValueError(f"config {name}: quantization_config holds a {type(quantization).__name__}, not an object")
    weights = _declared(quantization)
    # Its type, if all modules have it or those that have not are known.
    method = quantization.get("quant_algo") or quantization.get("quant_method") or "no quant_method"
    unknown = Weights(f"unknown ({method})", 0.0, 0.0)
    if weights is None:
        return unknown
    if weights.experts:
        return weights
    left = _unquantized(quantization)
    if not any(_ATTENTION.search(module) for module in left):
        return unknown if any(_FEED_FORWARD.search(module) for module in left) else weights
    # Attention is left in 16 bits: experts are what is narrow, and a model without them is a mixture.
    with_experts = any(field in config for field in NUMBER for config in (values, inner))
    return Weights(f"{weights.name} experts", 16.0, 16.0, weights.layers) if with_experts else unknown


# Where a config says how its weights are stored; mlx-lm says it twice, older versions in the last alone.
_PLACES = ("quantization_config", "compression_config", "quantization")
_ATTENTION = re.compile(r"attn(\.?\*|$|\.(q|k|v|o|kv|qkv|q_a|q_b|kv_a|kv_b|out|in_proj_qkv)[a-z_]*proj)")


_FEED_FORWARD = re.compile(r"mlp(\.?\*|$)|(mlp|feed_forward)\S*(proj|\bw[123]\b)")


def _unquantized(quantization: dict[str, Any]) -> list[str]:
    """The modules that are not quantized, by name or by pattern."""
    names = ("ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers", "llm_int8_skip_modules")
    lists = (quantization[name] for name in names if isinstance(quantization.get(name), list))
    left: list[Any] = next(lists, [])
    return [str(module) for module in left]


def _declared(quantization: dict[str, Any]) -> Weights | None:
    """The type of weights that a quantization_config describes; None if it is not understood."""
    method = str(quantization.get("quant_method") or "").lower()
    # modelopt writes quant_algo, whatever the other fields are; mlx-lm names no method.
    if quantization.get("quant_algo"):
        return _modelopt(str(quantization["quant_algo"]).lower())
    if not method and "bits" in quantization and "group_size" in quantization:
        return _mlx(quantization)
    if method == "gguf":
        return Weights("gguf", float(quantization["layer_bits"]), float(quantization["head_bits"]))
    # gpt-oss: experts alone, all else in 16 bits.
    if method == "mxfp4":
        return Weights("mxfp4 experts", 16.0, 16.0, _MXFP4)
    if method in ("fp8", "fbgemm_fp8", "finegrained_fp8"):
        return Weights("fp8", 8.0, 16.0)
    if method in ("awq", "gptq", "auto-round", "autoround", "auto_round", "gptq_marlin"):
        # Some layers have other types.
        if quantization.get("dynamic") or quantization.get("extra_config"):
            return None
        bits, group = (
            quantization.get("bits", quantization.get("w_bit", 4)),
            quantization.get("group_size", quantization.get("q_group_size", 128)),
        )
        weights = _grouped(bits, group)
        if weights is not None and quantization.get("lm_head") is True:
            return weights._replace(head=weights.layers)
        return weights
    if method == "bitsandbytes":
        return _bitsandbytes(quantization)
    if method in ("compressed-tensors", "compressed_tensors", "sparseml") or "config_groups" in quantization:
        return _compressed(quantization)
    return None


def _bitsandbytes(quantization: dict[str, Any]) -> Weights | None:
    """The type of bitsandbytes: a scale of 32 bits for 64 weights, or of 8 bits with one of 32 for 256 such scales."""
    if quantization.get("load_in_4bit") or quantization.get("_load_in_4bit"):
        twice = quantization.get("bnb_4bit_use_double_quant")
        return Weights("int4", 4 + 8 / 64 + 32 / (64 * 256) if twice else 4.5, 16.0)
    return Weights("int8", 8.0, 16.0) if quantization.get("load_in_8bit") or quantization.get("_load_in_8bit") else None


def _mlx(quantization: dict[str, Any]) -> Weights | None:
    """The type of mlx-lm, one for layers and head; None where some module has a type of its own."""
    bits, group, mode = quantization["bits"], quantization["group_size"], quantization.get("mode", "affine")
    others = [
        value for name, value in quantization.items() if name not in ("bits", "group_size", "mode", "quant_method")
    ]
    if any(isinstance(value, dict) or value is False for value in others):
        return None
    if mode in ("mxfp4", "nvfp4", "mxfp8"):
        return _uniform(mode, {"mxfp4": _MXFP4, "nvfp4": 4.5, "mxfp8": _MXFP8}[mode])
    if mode != "affine" or not isinstance(bits, int) or not isinstance(group, int) or group < 1 or not 2 <= bits <= 8:
        return None
    # A scale and an offset of 16 bits for each group.
    return _uniform(f"int{bits}", bits + 32 / group)


def _grouped(bits: Any, group: Any, zeros: bool = True) -> Weights | None:
    """Whole numbers of few bits, with a scale of 16 bits for each group, and a zero point; the head in 16 bits."""
    if not isinstance(bits, int) or not isinstance(group, int) or bits not in (2, 3, 4, 8):
        return None
    beside = 16 + bits if zeros else 16
    return Weights(f"int{bits}", bits + (beside / group if group > 0 else 0.0), 16.0)


def _modelopt(algorithm: str) -> Weights | None:
    """The type of modelopt's algorithm of this name."""
    if "nvfp4" in algorithm:
        return Weights("nvfp4", 4.5, 16.0)
    if "mxfp8" in algorithm:
        return Weights("mxfp8", _MXFP8, 16.0)
    if "fp8" in algorithm:
        return Weights("fp8", 8.0, 16.0)
    return Weights("int4", 4.125, 16.0) if "w4a16" in algorithm else None


def _compressed(quantization: dict[str, Any]) -> Weights | None:
    """The type that all groups of layers share; None where they differ."""
    groups = quantization.get("config_groups")
    sparse = quantization.get("sparsity_config")
    # A sparse format leaves zeros out of the file.
    if isinstance(sparse, dict) and sparse.get("format") not in (None, "dense"):
        return None
    # (type, bits, group size, with zero points) of every group.
    kinds = set()
    for group in groups.values() if isinstance(groups, dict) else ():
        weights = group.get("weights") if isinstance(group, dict) else None
        if isinstance(weights, dict):
            zeros = weights.get("symmetric") is False
            kinds.add((str(weights.get("type")), weights.get("num_bits"), weights.get("group_size"), zeros))
    if len(kinds) != 1:
        return None
    # One type for all.
    kind, bits, group, zeros = kinds.pop()
    if kind == "float" and bits == 4:
        return Weights("mxfp4", _MXFP4, 16.0) if group == 32 else Weights("nvfp4", 4.5, 16.0)
    if kind == "float" and bits == 8:
        return Weights("fp8", 8.0, 16.0)
    if kind == "int":
        return _grouped(bits, group if group is not None else -1, zeros)
    return None
