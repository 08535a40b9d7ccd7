"""Seconds of the parts of one pass: matrix products, attention, states, and what devices exchange.

Arguments that all parts share: `tokens` that the pass reads (of all sequences in `products` and `exchanged`, of one
elsewhere), `parts`, the number of devices that share the pass, `rate`, the operations per second of the device in the
type that is multiplied, `cached`, the bytes of a cached number, and the constants `k`.
"""

from __future__ import annotations

from typing import NamedTuple

from specsim.latency.shape import ModelShape
from specsim.latency.tables import Hardware, expected_experts
from specsim.latency.weights import Weights


class Constants(NamedTuple):
    """Shares of the printed rates that are reached, and fixed times in seconds.

    bandwidth, flops, launch_s: the two shares, and the start of one product; fitted on the rows of one device
    (H100-SXM5, up to 256 tokens) of `data/verify_cost.csv`, tested on five others. attention_s: what one layer's
    attention takes beside its reading and arithmetic, fitted on the rows of the same device of
    `data/attention_cost.csv`, tested on four others. allreduce_s: start of one all-reduce. host_s: work of the host in
    a pass. experts_s: what a layer with experts takes beside reading and arithmetic (routing, sorting, launches), in
    each pass. The last three are 0 by default, since no number holds everywhere.

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
    """Return the seconds of all matrix products of a pass.

    A layer has four: queries with keys and values, output, up (with gate), and down. A layer with a state has two
    products in place of the first two. Experts, the head and a drafter's projection are further ones. width: bits of
    the weights. kappa: exponent of the experts law (`expected_experts`).
    """
    # Weights of one product of each kind; what neither attention nor states hold is shared by the
    # dense blocks.
    queries = shape.queries or shape.hidden * shape.head_dim * (shape.heads + 2 * shape.kv_heads)
    output = shape.hidden * shape.head_dim * shape.heads
    feeds, state = shape.feed_layers or shape.layers, shape.states
    mixed = shape.caching_layers * (queries + output) + state.layers * state.weights
    dense = max((shape.shared - mixed) / feeds, 0.0)

    # Bytes of a parameter: of the layers, of experts, and of the head.
    wide, narrow, last = width.layers / 8, width.expert_bits / 8, width.head / 8

    # Products, as (bytes read, weights that each token multiplies, how many such products there
    # are). A feed-forward block is two products, gate with up and down, of 2/3 and 1/3 of its
    # weights; so is a layer with a state.
    matrices: list[tuple[float, float, int]]
    matrices = [(weights * wide, weights, shape.caching_layers) for weights in (queries, output)]
    if state.layers:
        matrices += [(share * state.weights * wide, share * state.weights, state.layers) for share in (2 / 3, 1 / 3)]
    matrices += [(dense * share * wide, dense * share, feeds) for share in (2 / 3, 1 / 3) if dense]
    # All experts that some token takes are read; a token multiplies by those that it takes.
    if shape.experts:
        num_read = expected_experts(tokens, experts=shape.experts, per_token=shape.experts_per_token, correlation=kappa)
        read, used = num_read * shape.expert, shape.experts_per_token * shape.expert
        matrices += [(read * share * narrow, used * share, shape.moe_layers) for share in (2 / 3, 1 / 3)]
    matrices += [(shape.head * last, shape.head, 1)]
    if shape.fc:
        matrices.append((shape.fc * wide, shape.fc, 1))

    # Each product takes a launch, and the longer of reading and multiplying (2 operations a weight
    # and token). Logits are written once and read once, in 32 bits.
    bytes_per_s, operations_per_s = k.bandwidth * gpu.bandwidth * parts, k.flops * rate * parts
    logits_s = 8 * tokens * shape.vocab / bytes_per_s
    return logits_s + sum(
        count * (k.launch_s + max(read / bytes_per_s, 2 * used * tokens / operations_per_s))
        for read, used, count in matrices
    )


def product(weights: float, tokens: int, parts: int, gpu: Hardware, rate: float, width: float, k: Constants) -> float:
    """Return the seconds of one product alone; width: bytes of a weight."""
    bytes_per_s, operations_per_s = k.bandwidth * gpu.bandwidth * parts, k.flops * rate * parts
    return k.launch_s + max(weights * width / bytes_per_s, 2 * weights * tokens / operations_per_s)


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
    """Return the seconds of the attention of all layers.

    The cache is read once for all the queries of a sequence, as packed kernels do.
    """
    # A head of the cache is not divided among devices.
    cache_parts = min(parts, shape.kv_heads)
    bytes_per_s, operations_per_s = k.bandwidth * gpu.bandwidth, k.flops * rate
    # Operations of one head for one query and one token that it sees: 2 a number of the key, and 2
    # a number of the value. Latent attention has the compressed vector and the rotary key as key,
    # and the compressed vector as value.
    per_head = 2 * (2 * shape.kv_rank + shape.rope) if shape.kv_rank else 4 * shape.head_dim

    def layer(seen_tokens: int, read_tokens: int) -> float:
        """Return the seconds of one layer: tokens that a query sees, and tokens that are read for all queries."""
        read = shape.layer_values * cached * batch * read_tokens / cache_parts
        operations = per_head * shape.heads * tokens * batch * seen_tokens / parts
        return k.attention_s + max(read / bytes_per_s, operations / operations_per_s)

    # Sparse attention: a query reads the `topk` tokens that its indexer picks, and those of
    # different queries may be different. The indexer reads its keys of all tokens.
    all_tokens = context + tokens
    full = shape.caching_layers - shape.window.layers
    if shape.indexer.topk and all_tokens > shape.indexer.topk:
        topk, index = shape.indexer.topk, shape.indexer
        read = index.size * cached * batch * all_tokens
        operations = 2 * index.size * index.heads * tokens * batch * all_tokens / parts
        indexing = k.attention_s + max(read / bytes_per_s, operations / operations_per_s)
        return full * (layer(topk, min(tokens * topk, all_tokens)) + indexing)

    # Layers over all tokens, and layers over a window.
    seconds = full * layer(all_tokens, all_tokens)
    if shape.window.layers:
        near = min(context, shape.window.tokens) + tokens
        seconds += shape.window.layers * layer(near, near)
    return seconds


def states(shape: ModelShape, tokens: int, batch: int, parts: int, gpu: Hardware, k: Constants) -> float:
    """Return the seconds that layers with a state take to read and write their states.

    A state, of 32-bit numbers, is read once and written after each token, so that a rejected draft can be undone.
    """
    moved_bytes = shape.state_values * 4 * batch * (1 + tokens) / parts
    return shape.states.layers * k.attention_s + moved_bytes / (k.bandwidth * gpu.bandwidth)


def exchanged(shape: ModelShape, tokens: int, parts: int, gpu: Hardware, k: Constants) -> float:
    """Return the seconds of the all-reduces, two a layer, between devices that share the model."""
    if parts == 1:
        return 0.0
    # A ring moves 2 (n - 1) / n of the activations (2 bytes each) over every link.
    moved_bytes = 2 * (parts - 1) / parts * tokens * shape.hidden * 2
    return 2 * shape.layers * (k.allreduce_s + moved_bytes / gpu.link)
