"""Drafters without a model of their own: an EAGLE head, a multi-token-prediction (MTP) module, looked-up n-grams."""

from __future__ import annotations

from specsim.base import check
from specsim.base.unknown import unknown
from specsim.latency.shape import ModelShape, States, Window, as_eagle

DRAFTERS = ("eagle", "eagle3", "mtp", "ngram", "suffix")
# Tokens that most published EAGLE-3 heads score.
SCORED = 32_000


def of_target(target: ModelShape, kind: str, *, scored: int = 0) -> ModelShape:
    r"""Return the drafter of a kind for a target: one layer as wide as the target's, with its own or the target's head.

    .. math:: \text{EAGLE}: 2h^2 + \text{layer}, \quad \text{EAGLE-3}: \text{layer}' + V_d h, \quad
        \text{MTP}: 2h^2 + \text{layer}

    Parameters
    ----------
    target : ModelShape
        The model whose layers are copied. Experts stay in an MTP module; an EAGLE head is dense, with a feed-forward
        block of 3.5 times the width where the target has experts.
    kind : str
        "eagle", "eagle3" or "mtp".
    scored : int
        Tokens that the drafter's head scores; 0: all of the target's, or `SCORED` for EAGLE-3 if the target has more.

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

    # An MTP module is a layer with attention, with experts if the target has any, behind a
    # projection (2 h, h).
    if kind == "mtp":
        experts = target.experts * target.expert if target.experts else 0.0
        body = _attention_layer_parameters(target) + experts
        moe = 1 if target.experts else 0
        alike = target._replace(attention_layers=0, window=Window(), states=States(), feed_layers=0)
        return alike._replace(
            name=name, layers=1, body=body, moe_layers=moe, drafter=kind, fc=2.0 * h * h, scored=scored_tokens
        )

    # An EAGLE head is a plain layer: with the target's attention, or if that is latent, or there
    # are experts or states, with as many heads of the usual kind. Four matrices (h, h) are its
    # attention, three (h, 3.5 h) its block.
    if target.kv_rank or target.experts or target.states.layers:
        heads, size, kv_heads = target.heads, max(h // target.heads, 1), target.heads
        body = 4.0 * h * heads * size + 3 * h * 3.5 * h
    else:
        heads, size, kv_heads = target.heads, target.head_dim, target.kv_heads
        body = target.body / target.layers
    plain = ModelShape(name, 1, h, heads, kv_heads, size, target.vocab, body, target.head)
    if kind == "eagle3" and not scored_tokens:
        scored_tokens = min(SCORED, target.vocab)
    return as_eagle(plain, kind, scored=scored_tokens)


def _attention_layer_parameters(target: ModelShape) -> float:
    """Return the number of parameters of a layer with attention, without experts.

    In a hybrid it is not that of the mean layer: layers with a state differ.
    """
    # All layers alike.
    if not target.states.layers:
        return target.shared / target.layers

    # A hybrid: attention, and an equal share of what neither attention nor states hold, the
    # feed-forward blocks.
    queries = target.queries or target.hidden * target.head_dim * (target.heads + 2 * target.kv_heads)
    output = target.hidden * target.head_dim * target.heads
    attention = queries + output
    feeds = target.shared - target.caching_layers * attention - target.states.layers * target.states.weights
    return attention + feeds / (target.feed_layers or target.layers)
