"""Time from a device's bandwidth and arithmetic: a prediction, with every constant an argument.

A matrix product takes a launch, and then as long as the slower of reading its weights and multiplying.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache

from specsim.base import check
from specsim.base.dtypes import short_name
from specsim.latency.model import LatencyModel, Timing
from specsim.latency.passes import Constants, attention, exchanged, product, products, states
from specsim.latency.shape import ModelShape
from specsim.latency.tables import Hardware, hardware, rows
from specsim.latency.weights import TYPES, Weights

# Words of assumptions that other rooms look for.
KNOWN = "a cycle over a step is known"
NO_OVERHEAD = "nothing but passes and steps costs time"


def roofline(
    target: ModelShape | str,
    draft: ModelShape | str,
    device: Hardware | str,
    *,
    tensor_parallel: int = 1,
    draft_tensor_parallel: int = 1,
    dtype: str = "bf16",
    weight_bytes: float | Weights | None = None,
    draft_weight_bytes: float | Weights | None = None,
    kv_bytes: float = 2,
    draft_vocab: int | None = None,
    draft_context: int | None = None,
    correlation: float = 1,
    overhead_s: float = 0.0,
    constants: Constants | None = None,
) -> LatencyModel:
    r"""Return the latency model of two models on a device: seconds of passes and steps, from shapes and rates.

    .. math:: T(m) = \sum_{\text{products}} \left[ t_0 + \max\left(\frac{W}{e_b BW}, \frac{2 W' n}{e_f F}\right) \right]
        + L \left[t_a + \max\left(\frac{\text{KV}(B, S)}{e_b BW}, \frac{A}{e_f F}\right)\right]
        + L_e t_e + \text{all-reduces} + t_h, \quad n = B m

    W is what a product reads in bytes: with experts, that of the expected number of distinct ones, N(n), while each
    token multiplies by k of them; A are the operations of a layer's attention. Logits are written once and read once
    in 32 bits.

    Parameters
    ----------
    target, draft : ModelShape or str
        Shapes, or names in the table of models.
    device : Hardware or str
        A device, or its name.
    tensor_parallel, draft_tensor_parallel : int
        Devices that share a pass: products, heads and logits are divided, with two all-reduces a layer.
    dtype : str
        Which of the device's rates multiplies weights: "bf16", "fp16", "fp8", "int8", "fp4". Attention takes 16 bits.
    weight_bytes, draft_weight_bytes : float or Weights, optional
        Bytes of a stored parameter, by default those of dtype: 0.5 and "bf16" are a target whose weights are kept in
        4 bits and unpacked, in no time, to be multiplied. Of the draft's by default those of the target. `Weights`
        tells layers, experts and head apart (`specsim.latency.weights.TYPES`).
    kv_bytes : float
        Bytes of a cached number.
    draft_vocab : int, optional
        Tokens that the draft's head scores, if fewer than its vocabulary (a restricted head); by default those that
        its shape names.
    draft_context : int, optional
        Most tokens of context that the draft's cache keeps (a compressed cache).
    correlation : float
        Exponent of the experts law, see `expected_experts`.
    overhead_s : float
        Sampling, verification and host work of a cycle; measured, as no table gives it.
    constants : Constants, optional
        Shares of the rates that are reached.

    Returns
    -------
    LatencyModel
        In seconds: a prediction. Single times have no interval; a cycle over a plain step has one on the devices
        whose kernel times are recorded, from how far off it is there (products only), up to the most tokens of a pass
        that are recorded.

    Raises
    ------
    ValueError
        An unknown name (near names are listed), a type the device does not have, a count below 1, a share outside
        (0, 1], a negative time, draft_vocab above the vocabulary, or several devices without a link.

    References
    ----------
    Williams, Waterman, Patterson 2009 (roofline); MoESD, arXiv:2505.19645 (experts); FR-Spec, arXiv:2502.14856
    (restricted vocabulary). Kernel times: aiconfigurator (Apache-2.0), see `specsim/latency/data`.

    Examples
    --------
    >>> model = roofline("llama-3.1-8b", "llama-3.2-1b", "h200-sxm")
    >>> round(1e3 * model.target(1, 1, 1024).value, 2), round(1e3 * model.draft(1, 1024).value, 2)
    (4.59, 1.04)
    """
    # Shapes of both models, the device, its constants.
    large = ModelShape.named(target) if isinstance(target, str) else target
    small = ModelShape.named(draft) if isinstance(draft, str) else draft
    for name, shape in (("target", large), ("draft", small)):
        check.record(shape, name, ModelShape)
        for field in ("layers", "hidden", "heads", "kv_heads", "head_dim", "vocab"):
            check.integer(getattr(shape, field), f"{shape.name}: {field}", 1)
        check.scalar(shape.body, f"{shape.name}: body", "(0, inf)")
        check.scalar(shape.head, f"{shape.name}: head", "[0, inf)")
    gpu = check.record(hardware(device) if isinstance(device, str) else device, "device", Hardware)
    dtype = short_name(dtype)
    if dtype not in gpu.flops:
        raise ValueError(f"dtype {dtype!r} is not in the table for {gpu.name}; it has {', '.join(gpu.flops)}")
    constants = check.record(Constants() if constants is None else constants, "constants", Constants)
    for name, value in constants._asdict().items():
        check.scalar(value, f"constants.{name}", "[0, inf)" if name.endswith("_s") else "(0, 1]")
    over = float(check.scalar(overhead_s, "overhead_s", "[0, inf)"))

    # The tokens that the draft's head scores, and so its size.
    if draft_vocab is None and small.scored:
        draft_vocab = small.scored
    if draft_vocab is not None:
        if not check.integer(draft_vocab, "draft_vocab", 1) <= small.vocab:
            raise ValueError(f"draft_vocab is {draft_vocab}, more than the draft's vocabulary of {small.vocab}")
        small = small._replace(vocab=draft_vocab, head=small.head * draft_vocab / small.vocab)

    # Types of weights and caches, the most context that the draft sees, and devices that share a
    # model.
    width = _weights(TYPES[dtype] if weight_bytes is None else weight_bytes, "weight_bytes")
    small_width = width if draft_weight_bytes is None else _weights(draft_weight_bytes, "draft_weight_bytes")
    cached = float(check.scalar(kv_bytes, "kv_bytes", "[0, inf)"))
    most_context = None if draft_context is None else check.integer(draft_context, "draft_context", 0)
    ranks = check.integer(tensor_parallel, "tensor_parallel", 1)
    draft_ranks = check.integer(draft_tensor_parallel, "draft_tensor_parallel", 1)
    if max(ranks, draft_ranks) > 1 and not gpu.link:
        name, count = ("tensor_parallel", ranks) if ranks > 1 else ("draft_tensor_parallel", draft_ranks)
        raise ValueError(f"{name} is {count}, but the table has no link for {gpu.name}")
    kappa = float(check.scalar(correlation, "correlation", "(0, 1]"))

    # Operations per second; attention multiplies in 16 bits.
    rate = gpu.flops[dtype]
    attention_rate = min(rate, gpu.flops.get("bf16") or gpu.flops.get("fp16") or rate)

    # Sweeps over acceptance need the same passes again and again, hence the cache.
    @cache
    def seconds(shape: ModelShape, tokens: int, batch: int, context: int, parts: int, width: Weights) -> Timing:
        """Return the time of one pass of a model."""
        return Timing(
            products(shape, tokens * batch, parts, gpu, rate, width, kappa, constants)
            + attention(shape, tokens, batch, context, parts, gpu, attention_rate, cached, constants)
            + states(shape, tokens, batch, parts, gpu, constants)
            + exchanged(shape, tokens * batch, parts, gpu, constants)
            + shape.moe_layers * constants.experts_s
            + constants.host_s
        )

    def draft_s(batch: int, context: int) -> Timing:
        """Return the time of a draft step, which may see fewer tokens of context."""
        seen_context = context if most_context is None else min(context, most_context)
        return seconds(small, small.block or 1, batch, seen_context, draft_ranks, small_width)

    # Is an interval known? Only for models, devices and types like those of recorded passes: dense
    # models with plain attention in 16 bits, and the shares (the first three constants) as they
    # were fitted.
    dense = not (large.experts or small.experts)
    usual = dense and not any(shape.kv_rank or shape.states.layers for shape in (large, small))
    usual = usual and not small.drafter
    sixteen = all(weights.layers == weights.head == 16 for weights in (width, small_width))
    is_recorded = usual and sixteen and constants[:3] == Constants()[:3] and gpu.name in rows("verify_cost")

    # Assumptions, as sentences.
    reached = f"{constants.bandwidth:.0%} of its bandwidth and {constants.flops:.0%} of its FLOP/s"
    words = [f"roofline of {gpu.name}: {reached} are reached"]
    words.append(_stored(width, small_width, dtype))
    words += [
        f"{KNOWN} to {_LEVELS} (one standard error), as on recorded matrix products, and for "
        "larger passes not at all; attention over several tokens, all-reduces and host are not checked"
        if is_recorded
        else "no interval: nothing is recorded for this device, type and kind of model to compare with"
    ]
    if not dense:
        words.append(f"experts touched follow t^{kappa:g} independent uniform draws")
    if max(ranks, draft_ranks) > 1 and constants.allreduce_s == 0:
        words.append("all-reduces start at once")
    if over == 0:
        words.append(NO_OVERHEAD)
    words += _kinds((large, small))
    if small.block:
        words.append(
            f"one pass drafts a block of {small.block} tokens, of which the first is known: "
            f"{small.block - 1} drafts at most"
        )
    elif small.one_pass:
        words.append("one pass drafts a whole block, and takes as long however many tokens it makes")
    elif small.drafter:
        words.append(
            f"a step of the {small.drafter} drafter is its layers, projection and head, whatever the engine adds"
        )

    def overhead(batch: int, context: int) -> Timing:
        """Return the overhead of a cycle, with the product that joins the target's states for a drafter."""
        if not small.fusion:
            return Timing(over)
        fusion_s = product(small.fusion, batch, draft_ranks, gpu, rate, small_width.layers / 8, constants)
        return Timing(over + fusion_s)

    known_error = cycle_error if is_recorded else None
    return LatencyModel(
        lambda tokens, batch, context: seconds(large, tokens, batch, context, ranks, width),
        draft_s,
        overhead,
        "s",
        tuple(words),
        known_error,
        one_pass=small.one_pass,
        longest=small.block - 1 if small.block else None,
    )


def _weights(value: float | Weights, name: str) -> Weights:
    """Return the type of weights for a number of bytes of a parameter; a type as it is."""
    if isinstance(value, Weights):
        return value
    bits = 8 * float(check.scalar(value, name, "(0, inf)"))
    return Weights(f"{bits:g} bits", bits, bits)


def _stored(target: Weights, draft: Weights, dtype: str) -> str:
    """Return the assumption about the types in which weights are stored and multiplied."""
    descriptions = []
    for weights in (target, draft):
        parts = [f"{weights.layers:.3g} bits"]
        if weights.experts:
            parts.append(f"experts {weights.experts:.3g}")
        if weights.head != weights.layers:
            parts.append(f"head {weights.head:.3g}")
        descriptions.append(f"{weights.name} ({', '.join(parts)})")
    of_target, of_draft = descriptions
    words = f"weights of the target are stored in {of_target}, of the draft in {of_draft}"

    # Types narrower than the multiplication are unpacked.
    narrow = any(weights.layers < 8 * BYTES[dtype] for weights in (target, draft))
    return f"{words}; {'they are unpacked in no time, and ' if narrow else ''}multiplied in {dtype}"


def _kinds(shapes: tuple[ModelShape, ModelShape]) -> list[str]:
    """Return the assumptions about layers that are not plain attention over all tokens."""
    words = []
    # Windows, states and indexers of each model, once if both are the same.
    for shape in dict.fromkeys(shapes):
        if shape.window.layers:
            words.append(
                f"{shape.name}: {shape.window.layers} of {shape.caching_layers} layers with attention keep a window of "
                f"{shape.window.tokens} tokens"
            )
        if shape.states.layers:
            words.append(
                f"{shape.name}: {shape.states.layers} of {shape.layers} layers keep a state of "
                f"{shape.states.numbers} numbers, in 32 bits, read once a pass and written once a token"
            )
        if shape.indexer.topk:
            words.append(
                f"{shape.name}: sparse attention; each query reads {shape.indexer.topk} tokens of its own, after an "
                "indexer that reads all"
            )
    return words


# Pairs (most tokens of a target pass, standard error). The error is a bound on the root mean square
# of the logarithm of predicted over measured (gamma T_D + T(gamma + 1)) / T(1), over pairs of dense
# models at least 4 times apart, on the devices of `data/verify_cost.csv` that the constants were
# not fitted on. There it is 0.048 and 0.125, and 97 % and 94 % of the cycles lie within 1.96 of the
# errors below; where several devices share the target (`data/verify_cost_tp.csv`) 97 % and 99 % do.
# `tests/latency/test_latency.py` computes these numbers anew.
CYCLE_ERROR = ((128, 0.06), (256, 0.13))
_LEVELS = " and ".join(f"{error:.0%} for passes of up to {most} tokens in all" for most, error in CYCLE_ERROR)


def cycle_error(tokens: int) -> float | None:
    """Return the standard error of a cycle with a pass over so many tokens; None for more than are recorded."""
    index = bisect_left([most for most, _ in CYCLE_ERROR], tokens)
    if index == len(CYCLE_ERROR):
        return None
    _, error = CYCLE_ERROR[index]
    return error


# Bytes of a number of each type that weights are multiplied in.
BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5}
