"""Cost emulation: a small trained model padded to the cost of a large one, its function unchanged.

Acceptance is then that of trained weights, and time that of a large model: every padded weight is read and multiplied.
Such a model must be named for what it is, never by its number of parameters alone.

How: hidden states are padded with zeros, and stay zero there.  An RMS norm over the longer vector divides by a smaller
root mean square, which norm weights times sqrt(h / H) and eps times h / H undo.  New heads and feed-forward rows are
random, the columns of `o_proj` and `down_proj` that would read them zero, as is all of both in new layers, which stand
evenly among the old.
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

_TOLERANCE = 0.05
_FFN = (2.75, 4.0)  # times hidden
_INEXACT = 1.5  # what a scale that bfloat16 rounds may cost, in doublings of the depth


def widen(model: Any, parameters: int, *, dtype: torch.dtype = torch.bfloat16, seed: int = 0) -> Any:
    """Pad a Llama to a number of parameters without changing its function.

    Parameters
    ----------
    model : LlamaForCausalLM
        The small model; grouped heads and biases are kept as they are.  Not changed.
    parameters : int
        Number of parameters wanted; met to 5 %.
    dtype : torch.dtype
        Of the new weights.  In float32 and float64 the logits are the small model's to rounding.  In half precision
        they are its half-precision logits to rounding where H / h is a power of 4, which `wide_shape` prefers;
        elsewhere each scaled norm weight is rounded once more.  Bundled target in bfloat16, mean total variation to
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
        If the model is no Llama, `parameters` is below its own number, no shape meets it, or memory cannot suffice.

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
    own = model.num_parameters()
    if parameters < own:
        raise ValueError(f"parameters must be at least {own:,}, the model's own, got {parameters:,}")
    shape = wide_shape(model.config, parameters)
    needed = {name: math.prod(size) * dtype.itemsize for name, size in shape.tensors().items()}
    check_memory(needed, model.device, lambda free: f"take at most {free // dtype.itemsize:,} parameters")
    config = _config(model.config, shape, dtype)
    with torch.device("meta"):
        wide = LlamaForCausalLM(config)
    wide.model.rotary_emb = type(model.model.rotary_emb)(config).to(model.device)  # its buffers are not weights
    generator = torch.Generator(model.device).manual_seed(seed)
    wide.load_state_dict(dict(_weights(model, wide, dtype, generator)), assign=True)
    wide.generation_config = copy.deepcopy(model.generation_config)
    return wide.eval()


def wide_shape(config: Any, parameters: int) -> Shape:
    """Choose what to widen to: depth and width growing together, in shapes that scale exactly where there are some.

    Parameters
    ----------
    config : LlamaConfig
        Of the small model.
    parameters : int
        Number wanted.

    Returns
    -------
    Shape
        Hidden and ffn multiples of 64 (of 256 from 2,048 on), ffn 2.75 to 4 times hidden (more only if the small
        model's is), heads of the small model's width and grouping, about 16 (hidden / 1024)^(3/4) layers.

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
        miss = abs(shape.parameters / parameters - 1)
        depth = abs(math.log2(shape.layers / (16 * (shape.hidden / 1024) ** 0.75)))
        rounded = math.log2(shape.hidden / config.hidden_size) % 2 != 0
        return miss > _TOLERANCE, miss if miss > _TOLERANCE else depth + _INEXACT * rounded + miss / _TOLERANCE / 2

    found = min(_candidates(config, parameters), key=rank)
    if rank(found)[0]:
        raise ValueError(
            f"no shape that holds the model is within 5 % of parameters {parameters:,}; the nearest has "
            f"{found.parameters:,}"
        )
    return found


def _candidates(config: Any, parameters: int) -> Iterator[Shape]:
    """For each width and ffn the depth that comes nearest."""
    old_ffn, old_layers = config.intermediate_size, config.num_hidden_layers
    for hidden in _sizes(config.hidden_size, 1 << 17):
        heads = _heads(config, hidden)
        if heads is None:
            continue
        low = max(old_ffn, _FFN[0] * hidden)
        for ffn in _sizes(low, _FFN[1] * hidden):
            one = Shape(
                1,
                hidden,
                ffn,
                heads,
                heads * config.num_key_value_heads // config.num_attention_heads,
                config.vocab_size,
                config.max_position_embeddings,
                config.head_dim,
                qkv_bias=config.attention_bias,
            )
            first, layer = one.parameters, replace(one, layers=2).parameters - one.parameters
            yield replace(one, layers=max(old_layers, 1 + round((parameters - first) / layer)))
        if old_layers * 3 * hidden * low > 2 * parameters:  # too wide already
            return


def _sizes(low: float, high: float) -> Iterator[int]:
    """Multiples of 64, from 2,048 on of 256: the first that is not below `low`, and what follows up to `high`."""
    found = (n for n in count(64 * math.ceil(low / 64), 64) if n < 2048 or n % 256 == 0)
    yield next(found)
    yield from takewhile(lambda n: n <= high, found)


def _heads(config: Any, hidden: int) -> int | None:
    """Query heads in the old proportion; Hugging Face wants a divisor of hidden, grouping a multiple of the group."""
    old = config.num_attention_heads
    group = old // config.num_key_value_heads
    possible = [n for n in range(group, hidden + 1, group) if hidden % n == 0 and n >= old]
    return min(possible, key=lambda n: abs(n - hidden * old / config.hidden_size), default=None)


def _config(old: Any, shape: Shape, dtype: torch.dtype) -> Any:
    config = copy.deepcopy(old)
    config.num_hidden_layers, config.hidden_size, config.intermediate_size = shape.layers, shape.hidden, shape.ffn
    config.num_attention_heads, config.num_key_value_heads = shape.heads, shape.kv_heads
    config.rms_norm_eps = old.rms_norm_eps * old.hidden_size / shape.hidden
    config.tie_word_embeddings, config.dtype = False, dtype
    return config


def _padded(
    name: str, size: torch.Size, old: Tensor | None, scale: float, dtype: torch.dtype, generator: torch.Generator
) -> Tensor:
    """One weight: the old one in its corner, around it what its place asks for."""
    weight = torch.zeros(size, dtype=dtype, device=generator.device)
    if "norm" in name:
        weight.fill_(scale)
        old = None if old is None else old.double() * scale
    elif not any(part in name for part in ("embed_tokens", "o_proj", "down_proj")):  # those write hidden states
        weight.normal_(std=size[-1] ** -0.5, generator=generator)
    if old is not None:
        weight[tuple(slice(n) for n in old.shape)] = old
    return weight


def _weights(model: Any, wide: Any, dtype: torch.dtype, generator: torch.Generator) -> Iterator[tuple[str, Tensor]]:
    """Weights of the wide model, old layer i of n standing in the middle of the i-th n-th of the new ones."""
    olds, (few, many) = model.state_dict(), (m.config.num_hidden_layers for m in (model, wide))
    scale = (model.config.hidden_size / wide.config.hidden_size) ** 0.5
    source = {(2 * i + 1) * many // (2 * few): i for i in range(few)}
    for name, empty in wide.state_dict().items():
        head, _, rest = name.partition("layers.")
        layer, _, rest = rest.partition(".")
        if not rest:
            old = olds[name]
        elif int(layer) in source:
            old = olds[f"{head}layers.{source[int(layer)]}.{rest}"]
        else:
            old = None
        yield name, _padded(name, empty.shape, old, scale, dtype, generator)
