"""Cost emulation: a small trained model padded to the cost of a large one, its function unchanged.

Acceptance is then that of trained weights, and time that of a large model: every padded weight is
read and multiplied. Such a model must be named for what it is, never by its number of parameters
alone.

How: hidden states are padded with zeros, and stay zero there. An RMS norm over the longer vector
divides by a smaller root mean square, which norm weights times sqrt(h / H) and eps times h / H
undo. New heads and feed-forward rows are random, the columns of `o_proj` and `down_proj` that would
read them zero, as is all of both in new layers, which stand evenly among the old.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, takewhile
from typing import Any

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from real.models.memory import check_memory
from real.models.shapes import Shape
from real.models.weights import supports

# Largest relative miss of the number of parameters.
_TOLERANCE = 0.05
# Smallest and largest width inside the feed-forward part, in multiples of hidden.
_FFN = (2.75, 4.0)
# Penalty of a shape whose scale of norms bfloat16 rounds, in doublings of a wrong depth.
_INEXACT = 1.5


def widen(model: Any, parameters: int, *, dtype: torch.dtype = torch.bfloat16, seed: int = 0) -> Any:
    """Pad a Llama to a number of parameters without changing its function.

    Parameters
    ----------
    model : LlamaForCausalLM
        The small model; grouped heads and biases are kept as they are. Not changed.
    parameters : int
        Number of parameters wanted; met to 5 %.
    dtype : torch.dtype
        Of the new weights.  In float32 and float64 the logits are the small model's to rounding. In half precision
        they are its half-precision logits to rounding where H / h is a power of 4, which `wide_shape` prefers;
        elsewhere each scaled norm weight is rounded once more. Bundled target in bfloat16, mean total variation to
        its float32 laws: 0.0061 as it is and at 1,024, 0.0066 at 384; to its own bfloat16 laws 0.0009 and 0.0084.
    seed : int
        Seeds the random weights.

    Returns
    -------
    LlamaForCausalLM
        In evaluation mode, on the model's device, its head untied.

    Raises
    ------
    ValueError
        If the model is no Llama, `parameters` is below its own number, no shape meets it, or memory
        cannot suffice.

    Examples
    --------
    >>> from transformers import LlamaConfig
    >>> small = LlamaForCausalLM(LlamaConfig(vocab_size=9, hidden_size=8, intermediate_size=16, num_hidden_layers=1,
    ...                                      num_attention_heads=2, max_position_embeddings=32))
    >>> small.num_parameters(), widen(small, 500_000).num_parameters()
    (808, 478080)
    """
    if type(model) is not LlamaForCausalLM or not supports(model):
        raise ValueError(f"{type(model).__name__} cannot be widened: only a Llama that real.models.llama supports can")
    fewest = model.num_parameters()
    if parameters < fewest:
        raise ValueError(f"parameters must be at least {fewest:,}, the model's own, got {parameters:,}")

    # The shape, if the memory suffices.
    shape = wide_shape(model.config, parameters)
    needed = {name: math.prod(size) * dtype.itemsize for name, size in shape.tensors().items()}
    check_memory(needed, model.device, lambda free: f"take at most {free // dtype.itemsize:,} parameters")

    # A model without weights, then its weights one by one. The rotations' buffers are no weights.
    config = _config(model.config, shape, dtype)
    with torch.device("meta"):
        wide = LlamaForCausalLM(config)
    wide.model.rotary_emb = type(model.model.rotary_emb)(config).to(model.device)
    generator = torch.Generator(model.device).manual_seed(seed)
    wide.load_state_dict(dict(_weights(model, wide, dtype, generator)), assign=True)
    wide.generation_config = copy.deepcopy(model.generation_config)
    return wide.eval()


def wide_shape(config: Any, parameters: int) -> Shape:
    """Choose the shape to widen to: depth and width grow together, and scales are exact if possible.

    Parameters
    ----------
    config : LlamaConfig
        Of the small model.
    parameters : int
        Number wanted.

    Returns
    -------
    Shape
        Hidden and ffn multiples of 64 (of 256 from 2,048 on), ffn 2.75 to 4 times hidden (more only
        if the small model's is), heads of the small model's width and grouping, about 16 (hidden /
        1024)^(3/4) layers.

    Raises
    ------
    ValueError
        If no shape that holds the small model is within 5 %; names the nearest.

    Examples
    --------
    >>> from transformers import LlamaConfig
    >>> small = LlamaConfig(vocab_size=2048, hidden_size=256, intermediate_size=704, num_hidden_layers=6,
    ...                     num_attention_heads=4)
    >>> shape = wide_shape(small, 100_000_000)
    >>> shape.layers, shape.hidden, shape.ffn, shape.heads
    (7, 1024, 3072, 16)
    """

    def rank(shape: Shape) -> tuple[bool, float]:
        """Return whether a shape misses the number of parameters, and how bad it is; small is good."""
        miss = abs(shape.parameters / parameters - 1)
        if miss > _TOLERANCE:
            return True, miss
        # How many doublings the depth is off.
        usual_layers = 16 * (shape.hidden / 1024) ** 0.75
        depth_error = abs(math.log2(shape.layers / usual_layers))
        # The scale sqrt(h / H) is exact if H / h is a power of 4.
        rounding = 0.0 if math.log2(shape.hidden / config.hidden_size) % 2 == 0 else _INEXACT
        return False, depth_error + rounding + miss / _TOLERANCE / 2

    # The best shape, if one meets the number.
    best = min(_candidates(config, parameters), key=rank)
    misses, _ = rank(best)
    if misses:
        raise ValueError(
            f"no shape that holds the model is within 5 % of parameters {parameters:,}; the nearest has "
            f"{best.parameters:,}"
        )
    return best


def _candidates(config: Any, parameters: int) -> Iterator[Shape]:
    """Yield for each width and ffn the shape whose number of layers comes nearest to `parameters`."""
    old_ffn, old_layers = config.intermediate_size, config.num_hidden_layers
    for hidden in _sizes(config.hidden_size, 1 << 17):
        heads = _heads(config, hidden)
        if heads is None:
            continue
        smallest, largest = (multiple * hidden for multiple in _FFN)
        low = max(old_ffn, smallest)
        for ffn in _sizes(low, largest):
            # The shape with one layer; every other layer adds the same number of parameters.
            single = Shape(
                layers=1,
                hidden=hidden,
                ffn=ffn,
                heads=heads,
                kv_heads=heads * config.num_key_value_heads // config.num_attention_heads,
                vocab=config.vocab_size,
                context=config.max_position_embeddings,
                head_dim=config.head_dim,
                qkv_bias=config.attention_bias,
            )
            per_layer = replace(single, layers=2).parameters - single.parameters
            layers = 1 + round((parameters - single.parameters) / per_layer)
            yield replace(single, layers=max(old_layers, layers))
        # End where the three feed-forward matrices of as many layers as the old model has would have
        # twice the parameters: wider shapes miss the number by more.
        if old_layers * 3 * hidden * low > 2 * parameters:
            return


def _sizes(low: float, high: float) -> Iterator[int]:
    """Yield multiples of 64, from 2,048 on of 256: the first from `low` on, then those up to `high`."""
    sizes = (n for n in count(64 * math.ceil(low / 64), 64) if n < 2048 or n % 256 == 0)
    yield next(sizes)
    yield from takewhile(lambda n: n <= high, sizes)


def _heads(config: Any, hidden: int) -> int | None:
    """Return the number of query heads whose ratio to `hidden` is nearest to the old model's; None if there is none.

    It is at least the old number, divides `hidden`, as Hugging Face wants, and is a multiple of the
    number of query heads that share one head of keys.
    """
    old_heads = config.num_attention_heads
    group = old_heads // config.num_key_value_heads
    possible = [n for n in range(group, hidden + 1, group) if hidden % n == 0 and n >= old_heads]
    wanted = hidden * old_heads / config.hidden_size
    return min(possible, key=lambda n: abs(n - wanted), default=None)


def _config(old: Any, shape: Shape, dtype: torch.dtype) -> Any:
    """Return the config of the wide model, of this shape, its head untied.

    A padded state has H numbers, of which h are not zero: its mean square is h / H times the small
    model's. So `rms_norm_eps`, which norms add to the mean square, shrinks by the same factor.
    """
    config = copy.deepcopy(old)
    config.num_hidden_layers = shape.layers
    config.hidden_size = shape.hidden
    config.intermediate_size = shape.ffn
    config.num_attention_heads, config.num_key_value_heads = shape.heads, shape.kv_heads
    config.rms_norm_eps = old.rms_norm_eps * old.hidden_size / shape.hidden
    config.tie_word_embeddings, config.dtype = False, dtype
    return config


def _padded(
    name: str, size: torch.Size, old: Tensor | None, scale: float, dtype: torch.dtype, generator: torch.Generator
) -> Tensor:
    """Return a weight of the wide model with the old one, if there is one, in its corner.

    `scale` is sqrt(h / H). Around the old weight stand the scale in norms, zeros in weights that
    write hidden states, so that the padding of states stays zero, and random numbers in all others.
    """
    weight = torch.zeros(size, dtype=dtype, device=generator.device)
    # Norm weights are multiplied by the scale: the root mean square of padded states is smaller.
    if "norm" in name:
        weight.fill_(scale)
        old = None if old is None else old.double() * scale
    elif not any(part in name for part in ("embed_tokens", "o_proj", "down_proj")):
        weight.normal_(std=size[-1] ** -0.5, generator=generator)
    if old is not None:
        weight[tuple(slice(n) for n in old.shape)] = old
    return weight


def _weights(model: Any, wide: Any, dtype: torch.dtype, generator: torch.Generator) -> Iterator[tuple[str, Tensor]]:
    """Yield the weights of the wide model by name.

    Old layer i of n stands in the middle of the i-th of n equal parts of the new layers.
    """
    old_weights = model.state_dict()
    few, many = model.config.num_hidden_layers, wide.config.num_hidden_layers
    scale = (model.config.hidden_size / wide.config.hidden_size) ** 0.5
    # New layer -> the old layer that stands there.
    source = {(2 * i + 1) * many // (2 * few): i for i in range(few)}
    for name, empty in wide.state_dict().items():
        # A weight of a layer has a name as "model.layers.3.mlp.up_proj.weight"; others have no part.
        prefix, _, inside = name.partition("layers.")
        layer, _, part = inside.partition(".")
        if not part:
            old = old_weights[name]
        elif int(layer) in source:
            old = old_weights[f"{prefix}layers.{source[int(layer)]}.{part}"]
        else:
            old = None
        yield name, _padded(name, empty.shape, old, scale, dtype, generator)
