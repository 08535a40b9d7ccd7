"""Bits in which weights are stored: by name, or by the block layouts of GGUF."""

from __future__ import annotations

from typing import NamedTuple

from specsim.base.unknown import unknown


class Weights(NamedTuple):
    """A type of stored weights: bits of a parameter of the layers, of the head, and of experts (0: as the layers).

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
        """Return the bytes of a model: body and head are numbers of parameters, experts those of body in experts."""
        bits = self.layers * (body - experts) + self.expert_bits * experts + self.head * head
        return bits / 8


def uniform(name: str, bits: float) -> Weights:
    """Return a type with the same bits in layers and head."""
    return Weights(name, bits, bits)


# Bits of a parameter in blocks: 8 times the bytes of a block over its weights. In GGUF 32 weights
# of Q8_0 are 32 bytes and a scale of 2; 256 of Q4_K are 128 bytes, 12 of scales and minima, and 4
# of their scales; 256 of Q6_K are 128 + 64 bytes, 16 scales and one of 2. 32 weights of MXFP4 and
# MXFP8 share a scale of one byte.
_Q8_0, _Q4_0, _Q4_K = 8 * 34 / 32, 8 * 18 / 32, 8 * 144 / 256
_Q5_K, _Q6_K, MXFP4, MXFP8 = 8 * 176 / 256, 8 * 210 / 256, 8 * 17 / 32, 8 * 33 / 32
# Share of the layers' weights that the mixes (_M) keep in Q6_K: the values and the down products of
# half of the layers. In one layer these are 28.5 % (Llama 3.1 8B) to 29.4 % (Llama 3.2 1B). With
# the head, which is in Q6_K too, Q4_K_M has 4.8 to 4.9 bits in all.
_MIXED = 0.29 / 2

TYPES: dict[str, Weights] = {
    **{name: uniform(name, 16.0) for name in ("bf16", "fp16")},
    **{name: uniform(name, 8.0) for name in ("fp8", "int8")},
    **{name: uniform(name, 4.0) for name in ("fp4", "int4")},
    "mxfp4": uniform("mxfp4", MXFP4),
    # 16 weights share a scale of 8 bits.
    "nvfp4": uniform("nvfp4", 4.5),
    "q8_0": uniform("q8_0", _Q8_0),
    "q6_k": uniform("q6_k", _Q6_K),
    "q5_k_m": Weights("q5_k_m", _Q5_K + _MIXED * (_Q6_K - _Q5_K), _Q6_K),
    "q4_k_m": Weights("q4_k_m", _Q4_K + _MIXED * (_Q6_K - _Q4_K), _Q6_K),
    "q4_0": Weights("q4_0", _Q4_0, _Q6_K),
}

# How engines store a model under these names: the head stays in 16 bits, and 128 weights in 4 bits
# (AWQ, GPTQ) share a scale of 16 bits and a zero point of 4.
STORED: dict[str, Weights] = {
    "int4": Weights("int4", 4 + 20 / 128, 16.0),
    "int8": Weights("int8", 8.0, 16.0),
    "fp8": Weights("fp8", 8.0, 16.0),
}


def weights_named(name: str, argument: str) -> Weights:
    """Return the type in which engines store a model under a name; capitals do not matter.

    ValueError lists the names.
    """
    key = str(name).lower().replace("-", "_")
    weights = STORED.get(key) or TYPES.get(key)
    if weights is None:
        raise unknown(argument, name, TYPES)
    return weights
