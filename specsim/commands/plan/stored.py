"""Types in which weights are stored and multiplied: by the options, by a config, or by the device."""

from __future__ import annotations

from typing import Any, NamedTuple

from specsim.base.dtypes import short_name
from specsim.base.unknown import unknown
from specsim.latency import Hardware, ModelShape
from specsim.latency.weights import TYPES, Weights, weights_named

# Bytes of a number in the cache, by its type.
KV_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "nvfp4": 4.5 / 8}


class Types(NamedTuple):
    """The type of the products, the types in which target and draft are stored, and notes on them."""

    products: str
    target: Weights
    draft: Weights
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return names and bits of a parameter, for a program."""
        return {
            "products": self.products,
            **{
                name: {
                    "type": weights.name,
                    "bits": weights.layers,
                    "head_bits": weights.head,
                    "expert_bits": weights.expert_bits,
                }
                for name, weights in (("target", self.target), ("draft", self.draft))
            },
        }


def chosen_types(
    dtype: str | None,
    weights: str | None,
    draft_weights: str | None,
    large: ModelShape,
    small: ModelShape | None,
    device: Hardware,
) -> Types:
    """Return the types of a plan: by the options, else by the configs, else 16 bits as the device has them.

    dtype is the type of the weights too, unless --weights and --draft-weights name others.
    """
    # The type of products, and that of weights whose type nothing names.
    sixteen = next((name for name in ("bf16", "fp16") if name in device.flops), next(iter(device.flops)))
    declared = None if large.stored is None else large.stored.name
    products = dtype
    if products is None:
        is_fp8 = declared is not None and declared.partition(",")[0] == "fp8"
        products = "fp8" if is_fp8 and weights is None and "fp8" in device.flops else sixteen
    plain = TYPES[sixteen] if dtype is None else TYPES.get(dtype, TYPES[sixteen])
    notes = []

    def stored(name: str | None, option: str, shape: ModelShape | None) -> Weights:
        """Return the type of a model's weights: as the option says, else as its config says, else the plain type."""
        # The option's type.
        if name is not None:
            return weights_named(name, option)
        if shape is None or shape.stored is None:
            return plain
        # The config's, unless --dtype stands for the weights, too.
        if dtype is not None and shape.stored.name != plain.name:
            notes.append(
                f"planned with {plain.name} weights of {shape.name}, as --dtype says; its config says "
                f"{shape.stored.name}: leave out --dtype to plan with them"
            )
            return plain
        if not shape.stored.layers:
            raise ValueError(
                f"{shape.name}: its quantization_config, {shape.stored.name}, is not understood; give {option} "
                f"({', '.join(TYPES)})"
            )
        return shape.stored

    # Types of both models, and notes on those that a config declares.
    target = stored(weights, "--weights", large)
    draft = stored(draft_weights, "--draft-weights", small)
    for shape, chosen, name in ((large, target, weights), (small, draft, draft_weights)):
        if shape is not None and name is None and chosen is shape.stored:
            notes.append(f"{shape.name}: weights are stored in {chosen.name}, as its config says (quantization_config)")
    return Types(products, target, draft, tuple(notes))


class Cache(NamedTuple):
    """The type of cached keys and values, the bytes of one, and a phrase on who says so; "" where nobody does."""

    dtype: str
    width: float
    words: str = ""


def chosen_cache(kv_dtype: str | None, target: ModelShape) -> Cache:
    """Return the type of the cache: by --kv-dtype, else by the target's config, else 16 bits."""
    if kv_dtype is not None:
        kind = short_name(kv_dtype)
        if kind not in KV_BYTES:
            raise unknown("kv_dtype", kind, KV_BYTES)
        words = f"the cache is kept in {kind}"
        if target.cache and target.cache != kind:
            words += f", as --kv-dtype says; the config of {target.name} says {target.cache}"
        return Cache(kind, KV_BYTES[kind], words)
    if not target.cache:
        return Cache("bf16", KV_BYTES["bf16"])
    if target.cache not in KV_BYTES:
        raise ValueError(
            f"{target.name}: the cache of its quantization_config, {target.cache}, is not understood; give --kv-dtype "
            f"({', '.join(KV_BYTES)})"
        )
    words = f"the cache is kept in {target.cache}, as the config of {target.name} says; --kv-dtype says otherwise"
    return Cache(target.cache, KV_BYTES[target.cache], words)


def cache_notes(cache: Cache, device: Hardware) -> list[str]:
    """Return a note if a device does not multiply in the type of the cache: an engine then takes other kernels.

    On 24 measured cells of an A100 (docs/results/loop.md) speedups were 0.58 to 1.01 times those of this model.
    """
    if KV_BYTES[cache.dtype] == KV_BYTES["bf16"] or {"nvfp4": "fp4"}.get(cache.dtype, cache.dtype) in device.flops:
        return []
    return [
        f"{device.name} does not multiply in {cache.dtype}: with such a cache engines take other attention kernels, "
        "which no number here knows; on an A100 (vLLM 0.24, fp8) measured speedups were 0.58 to 1.01 times these: "
        "measure"
    ]
