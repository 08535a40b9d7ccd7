"""Seconds of the parts of one pass: matrix products, attention, states, and what devices exchange."""

from __future__ import annotations

from typing import NamedTuple

from specsim.latency.shape import ModelShape
from specsim.latency.tables import Hardware, expected_experts
from specsim.latency.weights import Weights


class Constants(NamedTuple):
    """Shares of the printed rates that are reached, and fixed times in seconds.

    bandwidth, flops, launch_s: fitted on the rows of one device (H100-SXM5, up to 256 tokens) of
    `data/verify_cost.csv`, tested on five others. attention_s: what one layer's attention takes beside its reading and
    arithmetic, fitted on the rows of the same device of `data/attention_cost.csv`, tested on four others. allreduce_s:
    start of one all-reduce; host_s: host work in a pass; experts_s: what a layer with experts takes beside reading and
    arithmetic (routing, sorting, launches), in each pass; these are 0 unless given, since no number holds everywhere.

    Examples
    --------
    >>> Constants(host_s=1e-3).launch_s
    3.5e-06
    """

    bandwidth: float = 0.84
    flops: float = 0.6
    launch_s: float = 3.5e-6
    attention_s: float = 12e-6
    allreduce_s: float = 0.0
    host_s: float = 0.0
    experts_s: float = 0.0


def products(
    shape: ModelShape, tokens: int, parts: int, gpu: Hardware, rate: float, width: Weights, kappa: float, k: Constants
) -> float:
    """Seconds of the products: four a layer (queries with keys and values, output, up, down), of experts, of the head.

    A layer with a state has two products in place of the first two.
    """
    # Weights of one product of each kind.
    queries = shape.queries or shape.hidden * shape.head_dim * (shape.heads + 2 * shape.kv_heads)
    output = shape.hidden * shape.head_dim * shape.heads
    feeds, state = shape.feed_layers or shape.layers, shape.states
    mixed = shape.caching_layers * (queries + output) + state.layers * state.weights
    dense = max((shape.shared - mixed) / feeds, 0.0)
    wide, narrow, last = width.layers / 8, width.expert_bits / 8, width.head / 8
    # Products of matrices: bytes read, weights that each token multiplies, how many of them there are.
    matrices: list[tuple[float, float, int]]
    matrices = [(weights * wide, weights, shape.caching_layers) for weights in (queries, output)]
    if state.layers:
        matrices += [(share * state.weights * wide, share * state.weights, state.layers) for share in (2 / 3, 1 / 3)]
    matrices += [(dense * share * wide, dense * share, feeds) for share in (2 / 3, 1 / 3) if dense]
    if shape.experts:
        read = (
            expected_experts(tokens, experts=shape.experts, per_token=shape.experts_per_token, correlation=kappa)
            * shape.expert
        )
        used = shape.experts_per_token * shape.expert
        matrices += [(read * share * narrow, used * share, shape.moe_layers) for share in (2 / 3, 1 / 3)]
    matrices += [(shape.head * last, shape.head, 1)]
    if shape.fc:
        matrices.append((shape.fc * wide, shape.fc, 1))
    # Each takes a launch, and the longer of reading and multiplying; the logits are written and read.
    reading, multiplying = k.bandwidth * gpu.bandwidth * parts, k.flops * rate * parts
    logits = 8 * tokens * shape.vocab / reading
    return logits + sum(
        count * (k.launch_s + max(read / reading, 2 * used * tokens / multiplying)) for read, used, count in matrices
    )


def product(weights: float, tokens: int, parts: int, gpu: Hardware, rate: float, width: float, k: Constants) -> float:
    """Seconds of one product alone."""
    reading, multiplying = k.bandwidth * gpu.bandwidth * parts, k.flops * rate * parts
    return k.launch_s + max(weights * width / reading, 2 * weights * tokens / multiplying)


def attention(
    shape: ModelShape,
    tokens: int,
    batch: int,
    context: int,
    parts: int,
    gpu: Hardware,
    rate: float,
    cached: float,
    k: Constants,
) -> float:
    """Seconds of attention: the cache is read once for all the queries of a sequence, as packed kernels do."""
    # A head of the cache is not divided among devices.
    split = min(parts, shape.kv_heads)
    reading, multiplying = k.bandwidth * gpu.bandwidth, k.flops * rate
    # A query of latent attention meets the compressed vector and the rotary key, and sums the vectors.
    per_head = 2 * (2 * shape.kv_rank + shape.rope) if shape.kv_rank else 4 * shape.head_dim

    def layer(seen: int, read_tokens: int) -> float:
        """Seconds of one layer whose queries see so many tokens, when so many are read."""
        read = shape.layer_values * cached * batch * read_tokens / split
        multiply = per_head * shape.heads * tokens * batch * seen / parts
        return k.attention_s + max(read / reading, multiply / multiplying)

    all_tokens = context + tokens
    full = shape.caching_layers - shape.window.layers
    if shape.indexer.topk and all_tokens > shape.indexer.topk:
        # Every query reads its own tokens, at most all there are; the indexer reads its keys of all.
        topk, index = shape.indexer.topk, shape.indexer
        read = index.size * cached * batch * all_tokens
        multiply = 2 * index.size * index.heads * tokens * batch * all_tokens / parts
        indexing = k.attention_s + max(read / reading, multiply / multiplying)
        return full * (layer(topk, min(tokens * topk, all_tokens)) + indexing)
    # Layers over all tokens, and layers over a window.
    seconds = full * layer(all_tokens, all_tokens)
    if shape.window.layers:
        near = min(context, shape.window.tokens) + tokens
        seconds += shape.window.layers * layer(near, near)
    return seconds


def states(shape: ModelShape, tokens: int, batch: int, parts: int, gpu: Hardware, k: Constants) -> float:
    """Seconds of states: each is read once and written after each token, so that a rejected draft can be undone."""
    moved = shape.state_values * 4 * batch * (1 + tokens) / parts
    return shape.states.layers * k.attention_s + moved / (k.bandwidth * gpu.bandwidth)


def exchanged(shape: ModelShape, tokens: int, parts: int, gpu: Hardware, k: Constants) -> float:
    """Seconds of the all-reduces, two a layer, between devices that share the model."""
    if parts == 1:
        return 0.0
    # A ring moves 2 (n - 1) / n of the activations (16 bits each) over every link.
    moved = 2 * (parts - 1) / parts * tokens * shape.hidden * 2
    return 2 * shape.layers * (k.allreduce_s + moved / gpu.link)
