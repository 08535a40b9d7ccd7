"""Time from a device's bandwidth and arithmetic: a prediction, with every constant an argument.

A matrix product takes a launch, and then as long as the slower of reading its weights and multiplying.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from typing import NamedTuple

from specsim.base import check
from specsim.latency.model import LatencyModel, Timing
from specsim.latency.shape import ModelShape
from specsim.latency.tables import Hardware, expected_experts, hardware, rows

KNOWN = "a cycle over a step is known"
NO_OVERHEAD = "nothing but passes and steps costs time"


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


def roofline(
    target: ModelShape | str,
    draft: ModelShape | str,
    device: Hardware | str,
    *,
    tensor_parallel: int = 1,
    draft_tensor_parallel: int = 1,
    dtype: str = "bf16",
    weight_bytes: float | None = None,
    draft_weight_bytes: float | None = None,
    kv_bytes: float = 2,
    draft_vocab: int | None = None,
    draft_context: int | None = None,
    correlation: float = 1,
    overhead_s: float = 0.0,
    constants: Constants | None = None,
) -> LatencyModel:
    r"""Seconds of passes and steps from shapes and a device.

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
    weight_bytes, draft_weight_bytes : float, optional
        Bytes of a stored parameter, by default those of dtype: 0.5 and "bf16" are a target whose weights are kept in
        4 bits and unpacked, in no time, to be multiplied. Of the draft's by default those of the target.
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
    large = ModelShape.named(target) if isinstance(target, str) else target
    small = ModelShape.named(draft) if isinstance(draft, str) else draft
    for name, shape in (("target", large), ("draft", small)):
        check.record(shape, name, ModelShape)
        for field in ("layers", "hidden", "heads", "kv_heads", "head_dim", "vocab"):
            check.integer(getattr(shape, field), f"{shape.name}: {field}", 1)
        check.scalar(shape.body, f"{shape.name}: body", "(0, inf)")
        check.scalar(shape.head, f"{shape.name}: head", "[0, inf)")
    gpu = check.record(hardware(device) if isinstance(device, str) else device, "device", Hardware)
    if dtype not in gpu.flops:
        raise ValueError(f"dtype {dtype!r} is not in the table for {gpu.name}; it has {', '.join(gpu.flops)}")
    constants = check.record(Constants() if constants is None else constants, "constants", Constants)
    for name, value in constants._asdict().items():
        check.scalar(value, f"constants.{name}", "[0, inf)" if name.endswith("_s") else "(0, 1]")
    over = float(check.scalar(overhead_s, "overhead_s", "[0, inf)"))
    if draft_vocab is None and small.scored:
        draft_vocab = small.scored
    if draft_vocab is not None:
        if not check.integer(draft_vocab, "draft_vocab", 1) <= small.vocab:
            raise ValueError(f"draft_vocab is {draft_vocab}, more than the draft's vocabulary of {small.vocab}")
        small = small._replace(vocab=draft_vocab, head=small.head * draft_vocab / small.vocab)
    width = BYTES[dtype] if weight_bytes is None else float(check.scalar(weight_bytes, "weight_bytes", "(0, inf)"))
    thin = width if draft_weight_bytes is None else draft_weight_bytes
    small_width = float(check.scalar(thin, "draft_weight_bytes", "(0, inf)"))
    cached = float(check.scalar(kv_bytes, "kv_bytes", "[0, inf)"))
    most = None if draft_context is None else check.integer(draft_context, "draft_context", 0)
    ranks = check.integer(tensor_parallel, "tensor_parallel", 1)
    draft_ranks = check.integer(draft_tensor_parallel, "draft_tensor_parallel", 1)
    if max(ranks, draft_ranks) > 1 and not gpu.link:
        name, count = ("tensor_parallel", ranks) if ranks > 1 else ("draft_tensor_parallel", draft_ranks)
        raise ValueError(f"{name} is {count}, but the table has no link for {gpu.name}")
    kappa = float(check.scalar(correlation, "correlation", "(0, 1]"))

    rate = gpu.flops[dtype]
    wide = min(rate, gpu.flops.get("bf16") or gpu.flops.get("fp16") or rate)  # attention multiplies in 16 bits

    @cache  # sweeps over acceptance ask for the same passes again and again
    def seconds(shape: ModelShape, tokens: int, batch: int, context: int, parts: int, width: float) -> Timing:
        return Timing(
            _products(shape, tokens * batch, parts, gpu, rate, width, kappa, constants)
            + _attention(shape, tokens, batch, context, parts, gpu, wide, cached, constants)
            + _reduce(shape, tokens * batch, parts, gpu, constants)
            + shape.moe_layers * constants.experts_s
            + constants.host_s
        )

    def draft_s(batch: int, context: int) -> Timing:
        return seconds(small, 1, batch, context if most is None else min(context, most), draft_ranks, small_width)

    words = [f"roofline of {gpu.name}: shares of its rates {constants.bandwidth:g} and {constants.flops:g}"]
    dense = not (large.experts or small.experts)
    usual = dense and not (large.kv_rank or small.kv_rank or small.drafter)
    known = usual and width == small_width == 2 and constants[:3] == Constants()[:3] and gpu.name in rows("verify_cost")
    words += [
        f"{KNOWN} to {_LEVELS} (one standard error), as on recorded matrix products, and for "
        "larger passes not at all; attention over several tokens, all-reduces and host are not checked"
        if known
        else "no interval: nothing is recorded for this device, type and kind of model to compare with"
    ]
    if not dense:
        words.append(f"experts touched follow t^{kappa:g} independent uniform draws")
    if max(ranks, draft_ranks) > 1 and constants.allreduce_s == 0:
        words.append("all-reduces start at once")
    if over == 0:
        words.append(NO_OVERHEAD)
    if small.drafter:
        words.append(
            f"a step of the {small.drafter} drafter is its layers, projection and head, whatever the engine adds"
        )

    def overhead(batch: int, context: int) -> Timing:
        if not small.fusion:
            return Timing(over)
        fused = _product(small.fusion, batch, draft_ranks, gpu, rate, small_width, constants)
        return Timing(over + fused)

    return LatencyModel(
        lambda tokens, batch, context: seconds(large, tokens, batch, context, ranks, width),
        draft_s,
        overhead,
        "s",
        tuple(words),
        cycle_error if known else None,
    )


# Most tokens of a target pass, and a bound on the root mean square of the logarithm of predicted over measured
# (gamma T_D + T(gamma + 1)) / T(1), over pairs of dense models at least 4 times apart, on the devices of
# `data/verify_cost.csv` that the constants were not fitted on. Their cycles give 0.048 and 0.125, and 97 % and 94 % of
# them lie within 1.96 of these; where several devices share the target (`data/verify_cost_tp.csv`) it is 97 % and 99 %.
# `tests/latency/test_latency.py` computes it anew.
CYCLE_ERROR = ((128, 0.06), (256, 0.13))
_LEVELS = " and ".join(f"{error:.0%} for passes of up to {most} tokens in all" for most, error in CYCLE_ERROR)


def cycle_error(tokens: int) -> float | None:
    """The error of a pass over so many tokens; None for more than are recorded."""
    at = bisect_left([most for most, _ in CYCLE_ERROR], tokens)
    return CYCLE_ERROR[at][1] if at < len(CYCLE_ERROR) else None


BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5}


def _products(
    shape: ModelShape, tokens: int, parts: int, gpu: Hardware, rate: float, width: float, kappa: float, k: Constants
) -> float:
    """Four products a layer (queries with keys and values, output, up, down), those of the experts, and the head."""
    queries = shape.queries or shape.hidden * shape.head_dim * (shape.heads + 2 * shape.kv_heads)
    output = shape.hidden * shape.head_dim * shape.heads
    dense = max(shape.shared / shape.layers - queries - output, 0.0)
    products: list[tuple[float, float, int]]  # weights read, multiplied by each token, times
    products = [(weights, weights, shape.layers) for weights in (queries, output)]
    products += [(dense * share, dense * share, shape.layers) for share in (2 / 3, 1 / 3) if dense]
    if shape.experts:
        read = (
            expected_experts(tokens, experts=shape.experts, per_token=shape.experts_per_token, correlation=kappa)
            * shape.expert
        )
        used = shape.experts_per_token * shape.expert
        products += [(read * share, used * share, shape.moe_layers) for share in (2 / 3, 1 / 3)]
    products += [(shape.head, shape.head, 1)]
    if shape.fc:
        products.append((shape.fc, shape.fc, 1))
    reading, multiplying = k.bandwidth * gpu.bandwidth * parts, k.flops * rate * parts
    logits = 8 * tokens * shape.vocab / reading
    return logits + sum(
        count * (k.launch_s + max(read * width / reading, 2 * used * tokens / multiplying))
        for read, used, count in products
    )


def _product(weights: float, tokens: int, parts: int, gpu: Hardware, rate: float, width: float, k: Constants) -> float:
    """One product alone."""
    reading, multiplying = k.bandwidth * gpu.bandwidth * parts, k.flops * rate * parts
    return k.launch_s + max(weights * width / reading, 2 * weights * tokens / multiplying)


def _attention(
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
    """The cache is read once for all the queries of a sequence, as packed kernels do."""
    split = min(parts, shape.kv_heads)  # a head of the cache is not divided
    read = shape.kv_values / shape.layers * cached * batch * (context + tokens) / split
    # A query of latent attention meets the compressed vector and the rotary key, and sums the vectors.
    per_head = 2 * (2 * shape.kv_rank + shape.rope) if shape.kv_rank else 4 * shape.head_dim
    multiply = per_head * shape.heads * tokens * batch * (context + tokens) / parts
    slower = max(read / (k.bandwidth * gpu.bandwidth), multiply / (k.flops * rate))
    return shape.layers * (k.attention_s + slower)


def _reduce(shape: ModelShape, tokens: int, parts: int, gpu: Hardware, k: Constants) -> float:
    if parts == 1:
        return 0.0
    # A ring moves 2 (n - 1) / n of the activations (16 bits each) over every link.
    moved = 2 * (parts - 1) / parts * tokens * shape.hidden * 2
    return 2 * shape.layers * (k.allreduce_s + moved / gpu.link)
