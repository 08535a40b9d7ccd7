"""Drafters without a model of their own: an EAGLE head, a multi-token-prediction (MTP) module, looked-up n-grams."""

from __future__ import annotations

from specsim.base import check
from specsim.base.unknown import unknown
from specsim.latency.shape import ModelShape, States, Window, as_eagle

DRAFTERS = ("eagle", "eagle3", "mtp", "ngram", "suffix")
# The vocabulary of most published EAGLE-3 heads.
SCORED = 32_000


def of_target(target: ModelShape, kind: str, *, scored: int = 0) -> ModelShape:
    r"""The drafter of this kind that belongs to a target: one layer as wide as it, and its own or the target's head.

    .. math:: \text{EAGLE}: 2h^2 + \text{layer}, \quad \text{EAGLE-3}: \text{layer}' + V_d h, \quad
        \text{MTP}: 2h^2 + \text{layer}

    Parameters
    ----------
    target : ModelShape
        Whose layers are copied. Experts stay in an MTP module; an EAGLE head is dense, with a feed-forward block of 3.5
        times the width where the target has experts.
    kind : str
        "eagle", "eagle3" or "mtp".
    scored : int
        Tokens that its head scores; 0: all of the target's, or `SCORED` of EAGLE-3 if the target has more.

    Returns
    -------
    ModelShape
        Named after kind and target.

    Raises
    ------
    ValueError
        An unknown kind, or more tokens scored than there are.

    References
    ----------
    EAGLE, arXiv:2401.15077; EAGLE-3, arXiv:2503.01840; DeepSeek-V3, arXiv:2412.19437, section 2.2 (MTP).

    Examples
    --------
    >>> head = of_target(ModelShape.named("llama-3.1-8b"), "eagle3")
    >>> head.layers, head.scored, round(head.fusion / 1e6, 1)
    (1, 32000, 50.3)
    """
    if kind not in ("eagle", "eagle3", "mtp"):
        raise unknown("kind", kind, ("eagle", "eagle3", "mtp"))
    scored_tokens = check.integer(scored, "scored", 0)
    if scored_tokens > target.vocab:
        raise ValueError(f"scored is {scored_tokens}, more than the vocabulary of {target.vocab}")
    name = f"{kind} of {target.name}"
    h = target.hidden
    if kind == "mtp":
        # The last layer: one with experts where there are any.
        experts = target.experts * target.expert if target.experts else 0.0
        body = _attending_layer(target) + experts
        moe = 1 if target.experts else 0
        alike = target._replace(attention_layers=0, window=Window(), states=States(), feed_layers=0)
        return alike._replace(
            name=name, layers=1, body=body, moe_layers=moe, drafter=kind, fc=2.0 * h * h, scored=scored_tokens
        )
    # An EAGLE head is a plain layer: of the target's attention, or of as many heads where that is of another kind.
    if target.kv_rank or target.experts or target.states.layers:
        heads, size, kv = target.heads, max(h // target.heads, 1), target.heads
        body = 4.0 * h * heads * size + 3 * h * 3.5 * h
    else:
        heads, size, kv = target.heads, target.head_dim, target.kv_heads
        body = target.body / target.layers
    plain = ModelShape(name, 1, h, heads, kv, size, target.vocab, body, target.head)
    if kind == "eagle3" and not scored_tokens:
        scored_tokens = min(SCORED, target.vocab)
    return as_eagle(plain, kind, scored=scored_tokens)


def _attending_layer(target: ModelShape) -> float:
    """Parameters of a layer with attention, without experts; in a hybrid, of such a layer and not of the mean layer."""
    if not target.states.layers:
        return target.shared / target.layers
    queries = target.queries or target.hidden * target.head_dim * (target.heads + 2 * target.kv_heads)
    mixed = queries + target.hidden * target.head_dim * target.heads
    rest = target.shared - target.caching_layers * mixed - target.states.layers * target.states.weights
    return mixed + rest / (target.feed_layers or target.layers)
