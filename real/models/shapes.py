"""Random-weight Llama models of any shape: real time without real weights.

Nothing of Hugging Face is built, so that a model exists once, on its device and in its dtype.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from real.models import store
from real.models.memory import check_memory
from real.models.model import LanguageModel
from real.models.weights import Layer, Weights, pack
from specsim.base.unknown import unknown

# Base of the rotations and what norms add to the mean square, as in Llama 3.
_THETA, _EPS = 500_000.0, 1e-5


@dataclass(frozen=True)
class Shape:
    """Size of a Llama.

    Parameters
    ----------
    layers, hidden, ffn : int
        Layers, width, width inside the feed-forward part.
    heads, kv_heads : int
        Query heads, and the key and value heads they share evenly.
    vocab, context : int
        Tokens, and the largest number of positions.
    head_dim : int, optional
        Width of a head; hidden / heads by default.
    tied : bool
        Whether the head is the embedding.
    qkv_bias : bool
        Whether queries, keys and values have biases, as in Qwen2.

    Raises
    ------
    ValueError
        For sizes below 1, heads that cannot share evenly, or an odd width of a head.

    Examples
    --------
    >>> Shape(layers=2, hidden=16, ffn=32, heads=2, kv_heads=1, vocab=10, context=8).parameters
    5008
    """

    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    vocab: int
    context: int
    head_dim: int | None = None
    tied: bool = False
    qkv_bias: bool = False

    def __post_init__(self) -> None:
        """Refuse sizes that make no model."""
        for name in ("layers", "hidden", "ffn", "heads", "kv_heads", "vocab", "context"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.heads % self.kv_heads:
            raise ValueError(f"heads {self.heads} must be a multiple of kv_heads {self.kv_heads}")
        if self.head_dim is None and self.hidden % self.heads:
            raise ValueError(f"hidden {self.hidden} must be a multiple of heads {self.heads}, or head_dim given")
        if self.head_width < 2 or self.head_width % 2:
            raise ValueError(f"head_dim must be even and at least 2, got {self.head_width}")

    @property
    def head_width(self) -> int:
        """Return the width of one head."""
        return self.hidden // self.heads if self.head_dim is None else self.head_dim

    @property
    def parameters(self) -> int:
        """Return how many numbers all weights have; a tied head counts once."""
        layer, outside = self._layer(), self._outside()
        return self.layers * _count(layer) + _count(outside)

    def kv_bytes_per_token(self, dtype: torch.dtype) -> int:
        """Return the bytes that one position adds to the cache, over all layers, for keys and values of a type.

        >>> SHAPES["llama-3.1-8b"].kv_bytes_per_token(torch.bfloat16)
        131072
        """
        return 2 * self.layers * self.kv_heads * self.head_width * dtype.itemsize

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Return the sizes of the weights.

        Returns
        -------
        dict of str to tuple
            By name, in the layout of `real.models.weights.Weights`; "head" is missing where it is
            tied.
        """
        layer = self._layer().items()
        layers = {f"layers.{i}.{name}": size for i in range(self.layers) for name, size in layer}
        return self._outside() | layers

    def _layer(self) -> dict[str, tuple[int, ...]]:
        """Return the sizes of the weights of one layer, by name."""
        queries = self.heads * self.head_width
        projected = (self.heads + 2 * self.kv_heads) * self.head_width
        return {
            "norm_in": (self.hidden,),
            "qkv": (projected, self.hidden),
            **({"qkv_bias": (projected,)} if self.qkv_bias else {}),
            "out": (self.hidden, queries),
            "norm_mlp": (self.hidden,),
            "gate_up": (2 * self.ffn, self.hidden),
            "down": (self.hidden, self.ffn),
        }

    def _outside(self) -> dict[str, tuple[int, ...]]:
        """Return the sizes of the weights outside of layers, by name."""
        table = (self.vocab, self.hidden)
        return {"embedding": table, "norm": (self.hidden,), **({} if self.tied else {"head": table})}


def _count(sizes: dict[str, tuple[int, ...]]) -> int:
    """Return how many numbers tensors of these sizes hold together."""
    return sum(map(math.prod, sizes.values()))


# The first three are the models' published configurations.
SHAPES = {
    "llama-3.1-8b": Shape(32, 4096, 14336, heads=32, kv_heads=8, vocab=128256, context=131072),
    "llama-3.2-1b": Shape(16, 2048, 8192, heads=32, kv_heads=8, vocab=128256, context=131072, tied=True),
    "qwen2.5-0.5b": Shape(24, 896, 4864, heads=14, kv_heads=2, vocab=151936, context=32768, tied=True, qkv_bias=True),
    "300m": Shape(16, 1024, 4096, heads=16, kv_heads=16, vocab=32000, context=4096, tied=True),
    "100m": Shape(12, 640, 2560, heads=10, kv_heads=10, vocab=32000, context=4096, tied=True),
    "50m": Shape(8, 512, 2048, heads=8, kv_heads=8, vocab=32000, context=4096, tied=True),
    "10m": Shape(2, 256, 1024, heads=4, kv_heads=4, vocab=32000, context=4096, tied=True),
    "tiny": Shape(2, 16, 32, heads=2, kv_heads=1, vocab=32, context=1024, tied=True),
    "tiny-grouped": Shape(2, 32, 64, heads=4, kv_heads=2, vocab=32, context=1024, tied=True),
}


def find_shape(name: str) -> Shape:
    """Return the shape of a name, a key of `SHAPES`; ValueError for an unknown name.

    >>> find_shape("tiny").parameters
    5200
    """
    if name not in SHAPES:
        raise unknown("shape", name, SHAPES)
    return SHAPES[name]


def random_model(shape: Shape, *, dtype: torch.dtype, device: str | torch.device, seed: int = 0) -> LanguageModel:
    """Make a Llama with random weights on the fast path.

    The cost is that of a trained model of this shape, rope scaling apart, which changes numbers
    only.

    Parameters
    ----------
    shape : Shape
        Its size.
    dtype : torch.dtype
        Of weights and cache.
    device : str or torch.device
        Where the weights are made.
    seed : int
        Seeds them; the same on one device and dtype.

    Returns
    -------
    LanguageModel
        Projections keep the variance of what they read, so that activations stay near 1 whatever
        the depth; logits have a standard deviation near 2: neither flat nor one token.

    Raises
    ------
    ValueError
        If the memory cannot suffice, before any is taken; names the largest tensor and the smallest
        change that fits.

    Examples
    --------
    >>> model = random_model(SHAPES["tiny"], dtype=torch.float32, device="cpu")
    >>> model.cache().forward(torch.tensor([[1, 2, 3]]), rows=1).shape
    torch.Size([1, 1, 32])
    """
    device = torch.device(device)
    check_memory(_bytes(shape, dtype, device), device, partial(_what_fits, shape, dtype, device))
    generator = torch.Generator(device).manual_seed(seed)
    drawn = {name: _draw(name, size, dtype, generator) for name, size in shape.tensors().items()}
    weights = _weights(shape, drawn)
    # A pass over one token reads all weights but an embedding that is not the head, too.
    read = shape.parameters - (0 if shape.tied else shape.vocab * shape.hidden)
    return LanguageModel(
        vocab_size=shape.vocab,
        context=shape.context,
        dtype=dtype,
        device=device,
        embeddings=shape.vocab,
        new_store=partial(store.Llama, weights),
        weight_bytes=read * dtype.itemsize,
        weights=weights,
    )


def _draw(name: str, size: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> Tensor:
    """Return a random weight: ones in norms, else normal numbers whose scale keeps the input's variance."""
    # Norms, then biases.
    weight = torch.empty(size, dtype=dtype, device=generator.device)
    if "norm" in name:
        return weight.fill_(1)
    if len(size) == 1:
        return weight.normal_(std=0.1, generator=generator)

    # Matrices, whose outputs have a standard deviation near 1, and those of the head near 2; a tied
    # head is the embedding.
    gain = 2 if name in ("embedding", "head") else 1
    weight.normal_(std=size[-1] ** -0.5 * gain, generator=generator)
    # Each is packed at once: if all were packed together, the model would stand in memory twice.
    return weight if name == "embedding" else pack(weight)


def _weights(shape: Shape, drawn: dict[str, Tensor]) -> Weights:
    """Return the weights `drawn`, by names of `Shape.tensors`, in the layout of the fast path."""
    # Layers, whose biases are None where the shape has none.
    absent: dict[str, Any] = dict.fromkeys(("qkv_bias", "out_bias", "gate_up_bias", "down_bias"))
    layers = []
    for i in range(shape.layers):
        layer = {name: drawn[f"layers.{i}.{name}"] for name in shape._layer()}
        layers.append(Layer(**{**absent, **layer}))

    # The weights outside of layers, and the rotations of every position.
    embedding = drawn["embedding"]
    head = pack(embedding) if shape.tied else drawn["head"]
    cos, sin = _rope(shape, embedding)
    return Weights(
        embedding=embedding,
        layers=layers,
        norm=drawn["norm"],
        head=head,
        head_bias=None,
        eps=_EPS,
        cos=cos,
        sin=sin,
        heads=shape.heads,
        kv_heads=shape.kv_heads,
    )


def _rope(shape: Shape, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosines and sines (context, 1, head_dim), in float32 first, as Hugging Face computes them.

    The first half of the sines is negated, as `Weights` says.
    """
    positions = torch.arange(shape.context, dtype=torch.float32, device=like.device)
    steps = torch.arange(0, shape.head_width, 2, dtype=torch.float32, device=like.device) / shape.head_width
    angles = positions[:, None, None] * (1 / _THETA**steps)
    cos, sin = angles.cos().to(like.dtype), angles.sin().to(like.dtype)
    return torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1)


def _bytes(shape: Shape, dtype: torch.dtype, device: torch.device) -> dict[str, int]:
    """Return the bytes of every tensor of a model; on a CPU a tied head is packed apart from the embedding."""
    tables = dict.fromkeys(("rope.cos", "rope.sin"), (shape.context, shape.head_width))
    sizes: dict[str, tuple[int, ...]] = {**shape.tensors(), **tables}
    if device.type == "cpu":
        sizes["head"] = sizes["embedding"]
    return {name: math.prod(size) * dtype.itemsize for name, size in sizes.items()}


def _what_fits(shape: Shape, dtype: torch.dtype, device: torch.device, free: int) -> str:
    """Return the smallest change that fits, in words: half precision, else fewer layers, else both."""
    half = dtype if dtype.itemsize <= 2 else torch.bfloat16

    def total(layers: int, kind: torch.dtype) -> int:
        """Return the bytes with this many layers, of this type."""
        return sum(_bytes(replace(shape, layers=layers), kind, device).values())

    if total(shape.layers, half) <= free:
        return f"in {half} it would fit"
    # As many layers as fit in the type itself, or else in half precision.
    for kind in dict.fromkeys((dtype, half)):
        per_layer = total(2, kind) - total(1, kind)
        layers = 1 + (free - total(1, kind)) // per_layer
        if layers >= 1:
            suffix = "" if kind is dtype else f" in {kind}"
            return f"{layers} of its {shape.layers} layers would fit{suffix}"
    return "no number of its layers would fit: take a smaller hidden size, vocab or context"
