"""The type in which a quantization scheme stores a matrix: what each tool writes into a config, read as bits.

Bits of a parameter count what is stored beside the numbers: where a group of n parameters shares a scale of s bits,
that is s / n more for each.
"""

from __future__ import annotations

from typing import Any

from specsim.latency.weights import MXFP4, MXFP8, TYPES, Weights, uniform

# 16 parameters of 4 bits share a scale of 8 bits.
NVFP4 = TYPES["nvfp4"].layers
# Types that a config names in one word, such as expert_dtype: bits of a parameter.
WORDS: dict[str, float] = {
    **dict.fromkeys(("fp4", "mxfp4"), MXFP4),
    **dict.fromkeys(("fp8", "fp8_e4m3", "float8_e4m3fn", "int8"), 8.0),
    **dict.fromkeys(("bf16", "bfloat16", "fp16", "float16", "half"), 16.0),
    **{"nvfp4": NVFP4, "mxfp8": MXFP8, "float32": 16.0, "fp32": 16.0},
}
# Methods that store groups of whole numbers.
_GROUPED = ("awq", "gptq", "auto-round", "autoround", "auto_round", "gptq_marlin", "awq_marlin")


def scheme(quantization: dict[str, Any]) -> Weights | None:
    """Return the type of all matrices that have no type of their own in a quantization_config.

    None if the quantization is not understood.
    """
    # Fields in place of quant_method. modelopt writes quant_algo, whatever the other fields are;
    # mlx-lm names no method.
    method = str(quantization.get("quant_method") or "").lower()
    if quantization.get("quant_algo"):
        return modelopt(str(quantization["quant_algo"]).lower())
    if not method and "bits" in quantization and "group_size" in quantization:
        return mlx(quantization)

    # By the method; layer_bits and head_bits are those of
    # `specsim.latency.gguf_config.stored_bits`.
    if method == "gguf":
        return Weights("gguf", float(quantization["layer_bits"]), float(quantization["head_bits"]))
    if method in ("exl2", "exl3"):
        return _exllama(method, quantization)
    # gpt-oss has experts in mxfp4, and all else in 16 bits.
    if method == "mxfp4":
        return Weights("mxfp4 experts", 16.0, 16.0, MXFP4)
    if method in ("fp8", "fbgemm_fp8", "finegrained_fp8"):
        return Weights("fp8", 8.0, 16.0)
    if method in _GROUPED:
        weights = grouped(
            quantization.get("bits", quantization.get("w_bit", 4)),
            quantization.get("group_size", quantization.get("q_group_size", 128)),
        )
        if weights is not None and quantization.get("lm_head") is True:
            return weights._replace(head=weights.layers)
        return weights
    if method == "bitsandbytes":
        return _bitsandbytes(quantization)
    return _torchao(quantization) if method == "torchao" else None


def grouped(bits: Any, group: Any, zeros: bool = True) -> Weights | None:
    """Return the type of whole numbers of 2, 3, 4 or 8 bits; None for other numbers of bits.

    Each `group` of parameters has a scale of 16 bits and, with `zeros`, a zero point of `bits` bits; a group of 0 or
    less is a whole row, whose scale does not count. The head stays in 16 bits.
    """
    if not isinstance(bits, int) or not isinstance(group, int) or bits not in (2, 3, 4, 8):
        return None
    group_bits = 16 + bits if zeros else 16
    shared_bits = group_bits / group if group > 0 else 0.0
    return Weights(f"int{bits}", bits + shared_bits, 16.0)


def mlx(quantization: dict[str, Any]) -> Weights | None:
    """Return the type of a quantization by mlx-lm, the same for layers and head; None if it is not understood."""
    bits, group, mode = quantization.get("bits"), quantization.get("group_size"), quantization.get("mode", "affine")
    if mode in ("mxfp4", "nvfp4", "mxfp8"):
        return uniform(mode, WORDS[mode])
    if mode != "affine" or not isinstance(bits, int) or not isinstance(group, int) or group < 1 or not 2 <= bits <= 8:
        return None
    # Each group has a scale and an offset of 16 bits.
    return uniform(f"int{bits}", bits + 32 / group)


def modelopt(algorithm: str) -> Weights | None:
    """Return the type of modelopt's algorithm of this name, in small letters; None if it is not understood."""
    if "mixed" in algorithm:
        return None
    if "nvfp4" in algorithm:
        return Weights("nvfp4", NVFP4, 16.0)
    if "mxfp4" in algorithm:
        return Weights("mxfp4", MXFP4, 16.0)
    if "mxfp8" in algorithm:
        return Weights("mxfp8", MXFP8, 16.0)
    # 128 whole numbers of 4 bits share a scale of 16 bits.
    if "w4a16" in algorithm or "w4a8" in algorithm:
        return Weights("int4", 4.125, 16.0)
    if "w8a8" in algorithm or "int8" in algorithm or "w8a16" in algorithm:
        return Weights("int8", 8.0, 16.0)
    return Weights("fp8", 8.0, 16.0) if "fp8" in algorithm else None


def compressed(weights: dict[str, Any]) -> Weights | None:
    """Return the type of a group of compressed-tensors, by its field `weights`; None if it is not understood."""
    # Floats in groups of 32 have the scales of mxfp4 and mxfp8.
    kind, bits, group = str(weights.get("type")), weights.get("num_bits"), weights.get("group_size")
    if kind == "float" and bits == 4:
        return Weights("mxfp4", MXFP4, 16.0) if group == 32 else Weights("nvfp4", NVFP4, 16.0)
    if kind == "float" and bits == 8:
        return Weights("mxfp8", MXFP8, 16.0) if group == 32 else Weights("fp8", 8.0, 16.0)
    if kind != "int":
        return None
    # Whole numbers; without a size, one group is a whole row. A symmetric type has no zero points.
    size = -1 if group is None else group
    return grouped(bits, size, zeros=weights.get("symmetric") is False)


def _bitsandbytes(quantization: dict[str, Any]) -> Weights | None:
    """Return the type of a quantization by bitsandbytes; None if it is not understood."""
    # 64 numbers of 4 bits share a scale of 32 bits. Scales that are quantized themselves have 8
    # bits, and 256 of them share one of 32.
    if quantization.get("load_in_4bit") or quantization.get("_load_in_4bit"):
        scale_bits = 8 / 64 + 32 / (64 * 256) if quantization.get("bnb_4bit_use_double_quant") else 32 / 64
        return Weights("int4", 4 + scale_bits, 16.0)
    is_8bit = quantization.get("load_in_8bit") or quantization.get("_load_in_8bit")
    return Weights("int8", 8.0, 16.0) if is_8bit else None


def _exllama(method: str, quantization: dict[str, Any]) -> Weights | None:
    """Return the type of a quantization by ExLlama, which says the mean bits of the layers and those of the head.

    None if one of the two is no number of bits.
    """
    bits, head = quantization.get("bits"), quantization.get("head_bits", 16)
    if not all(isinstance(number, int | float) and 1 <= number <= 16 for number in (bits, head)):
        return None
    return Weights(f"{method} {bits:g}", float(str(bits)), float(head))


def _torchao(quantization: dict[str, Any]) -> Weights | None:
    """Return the type of a quantization by torchao; None if it is not understood.

    Its older form names a function: {"quant_type": "int4_weight_only", "quant_type_kwargs": {"group_size": 64}}. The
    newer one holds a configuration:
    {"quant_type": {"default": {"_type": "Int4WeightOnlyConfig", "_data": {"group_size": 64}}}}.
    """
    # Name and options, in either form.
    named, options = quantization.get("quant_type"), quantization.get("quant_type_kwargs")
    if isinstance(named, dict):
        configuration = named.get("default")
        configuration = configuration if isinstance(configuration, dict) else {}
        named, options = configuration.get("_type"), configuration.get("_data")
    group = options.get("group_size", 128) if isinstance(options, dict) else 128

    # The type, by the name without its underscores.
    name = str(named).lower().replace("_", "")
    if name in ("int4weightonly", "int4weightonlyconfig"):
        # Each group has a scale and a zero point of 16 bits.
        return Weights("int4", 4 + 32 / group, 16.0) if isinstance(group, int) and group > 0 else None
    if name.startswith(("int8weightonly", "int8dynamicactivationint8weight")):
        return Weights("int8", 8.0, 16.0)
    is_float8 = name.startswith(("float8weightonly", "float8dynamicactivationfloat8weight"))
    return Weights("fp8", 8.0, 16.0) if is_float8 else None
