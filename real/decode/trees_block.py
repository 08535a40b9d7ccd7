"""One block of trees, as a function of tensors: drafted level by level, read by the target in one pass, verified.

Slots.   A text of L tokens has its last token, the root (row 0), at slot L-1 of both caches; node i lies at slot L+i,
         whatever its depth, and is rotated for position L-1+depth. A row sees the slots before L-1 and those of its
         ancestors.
Path.    Keys and values of the accepted path are moved to slots L, L+1, ...: the caches are again those of a text.
         Leaves, which the draft does not read, are read in its next block, which begins with the last two tokens.
Shapes.  They follow from the plan and the batch; positions of texts are data. Nothing is read back before the outcome,
         so that a graph can hold the block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from array_api_compat import array_namespace, device
from torch import Tensor

from real.decode.clock import silent
from real.decode.draft import readable
from real.decode.fixed import Fixed
from real.decode.tree_plan import Level, TreePlan
from real.decode.warp import probabilities
from real.models import llama
from real.models.cache import fit_logits
from real.models.store import layers
from specsim.trees._siblings import drawn, reported
from specsim.types import Array


def _itself(w: Tensor) -> Tensor:
    """Return the tensor."""
    return w


@dataclass(frozen=True, eq=False)
class Trees:
    """Models, rule and plans of blocks of trees.

    Parameters
    ----------
    fixed : Fixed
        Models and caches.
    rule : TreeVerifier or BeamVerifier
        The rule; `block` takes the former, with shape and scheme.
    plain : callable
        Turns a tensor into what draws and rule compute in.
    mark : callable
        Told the phase of `real.decode.clock` that ends.
    """

    fixed: Fixed
    rule: Any
    plain: Callable[[Tensor], Array] = _itself
    mark: Callable[[str], None] = silent
    # By levels, as `_plans` makes them.
    plans: dict[int, tuple[TreePlan, TreePlan]] = field(default_factory=dict)


class Texts(NamedTuple):
    """Positions of the texts of one block in the caches.

    last: (b, 2), their last two tokens. root: (b,), slot of the last. sequences: (b, 1), their rows of the caches.
    take: (b,), the same rows, None if the block has all texts. span: slots that attention looks at.
    """

    last: Tensor
    root: Tensor
    sequences: Tensor
    take: Tensor | None
    span: int


def cycle(on: Trees, length: int, texts: Tensor, u: Tensor) -> Array:
    """Draft and verify for all texts as `real.decode.fixed.cycle` does: the same arguments, rows of `block`.

    `length` counts levels, and `plain` of `on` leaves tensors as they are.
    """
    span = on.fixed.caches["target"].kv.shape[4]
    return block(on, length, Texts(texts[:, :2], texts[:, 2], on.fixed.sequences, None, span), u)


@torch.inference_mode()
def block(on: Trees, length: int, texts: Texts, u: Tensor) -> Array:
    """Draft a tree of `length` levels after each text from uniforms (b, count), and verify it.

    The row of a text: number of accepted levels, the next token, the tokens of the accepted path (those beyond mean
    nothing), and for each depth whether its logits were finite, the target's, then the draft's.
    """
    # Draft the tree, and let the target read it in one pass.
    uniforms, rule = on.plain(u), on.rule.rule
    model_plan, plan = _plans(on, length, texts.root, uniforms)
    tokens, laws, tops = _draft(on, model_plan, plan, texts, uniforms)
    xp, read = array_namespace(tokens), torch.cat([texts.last[:, 1:], _tensor(tokens).clamp(min=0)], 1)
    target_place = place_of(on, "target", model_plan, texts)
    logits = nodes_logits(on, "target", target_place, texts, read)
    on.mark("verify")
    # The rule chooses the last node of a path.
    p = on.plain(probabilities(logits, on.fixed.warping))
    q = xp.concat(laws, axis=1)[:, plan.law] if laws else p
    tree = plan.tree(tokens, on.rule.scheme)
    prepared = rule.prepare(p, xp.astype(q, p.dtype, copy=False), tree, **on.rule.told)
    node, token = rule.verify(prepared, uniforms[:, plan.drawn :])
    path, accepted = plan.path[node], plan.depth[node]
    # Beyond the longest accepted path all nodes are in their own place.
    moved = path if isinstance(path, Tensor) else path[:, : accepted.max()]
    if plan.moves and moved.shape[1]:
        move([cache.kv for cache in on.fixed.caches.values()], texts, _tensor(moved))
    # Depths at which a row of logits was not finite.
    tops = on.plain(torch.cat([logits.amax(-1), *(top.to(logits.dtype) for top in tops)], 1).float())
    bad = ~xp.isfinite(tops)[:, None, :] & plan.by_level
    fine = xp.astype(~xp.any(bad, axis=-1), tokens.dtype)
    return xp.concat([accepted[:, None], token[:, None], xp.take_along_axis(tokens, path, axis=1), fine], axis=1)


def _plans(on: Trees, length: int, root: Tensor, uniforms: Array) -> tuple[TreePlan, TreePlan]:
    """Return one plan twice: on the models' device, and where draws and rule are computed.

    Both are made once, before a graph is captured.
    """
    if length not in on.plans:
        plan = on.rule.plan(length)
        on.plans[length] = plan.held(root), plan.held(uniforms)
    return on.plans[length]


def _draft(
    on: Trees, model_plan: TreePlan, plan: TreePlan, texts: Texts, u: Array
) -> tuple[Array, list[Array], list[Tensor]]:
    """Draft a tree for each text; return its tokens (b, n), -1 where a node is absent, and two lists by level.

    They are the draft's laws (b, W, V) at the W nodes of the level above, and the largest logits
    (b, W) there. `model_plan` is the plan on the models' device, `plan` the same where `u` is.
    """
    xp, laws, tops = array_namespace(u), list[Array](), list[Tensor]()
    tokens = xp.full((u.shape[0], len(plan.parents)), -1, dtype=xp.int64, device=device(u))
    # One level alone hangs below the root, which needs no place in the tree.
    place = place_of(on, "draft", model_plan, texts) if len(plan.levels) > 1 else None
    for model_level, level in zip(model_plan.levels, plan.levels, strict=True):
        # Logits after the root, or after the nodes above.
        is_first = not laws
        if is_first or place is None:
            logits = root_logits(on, texts)
        else:
            above = _tensor(tokens[:, level.above]).clamp(min=0)
            logits = nodes_logits(on, "draft", only(place, model_level.rows), texts, above)
        on.mark("draft")
        # Their laws, and the children drawn from them.
        law = on.plain(probabilities(logits, on.fixed.warping))
        _draw(on, level, law, u, tokens, below_root=is_first)
        laws.append(reported(on.rule.scheme, law, 1))
        tops.append(logits.amax(-1))
        on.mark("sample")
    return tokens, laws, tops


def _draw(on: Trees, level: Level, law: Array, u: Array, tokens: Array, *, below_root: bool) -> None:
    """Write the children of a level's nodes, drawn from their laws (b, W, V), into `tokens` (b, n).

    Below absent nodes they are absent: -1.
    """
    for family in level.families:
        rows = law if len(level.families) == 1 else law[:, family.places]
        count = family.children.shape[1]
        children = drawn(on.rule.scheme, rows, u[:, family.uniforms], count, on.rule.draws)
        # Rows that are not finite have no law: any token does, for the end of the block reports them.
        if isinstance(children, Tensor):
            children = children.clamp(max=law.shape[-1] - 1)
        if not below_root:
            is_present = tokens[:, family.above, None] >= 0
            children = array_namespace(children).where(is_present, children, -1)
        tokens[:, family.children] = children


def root_logits(on: Trees, texts: Texts) -> Tensor:
    """Return logits (b, 1, V) of the draft after the texts.

    It reads the last two tokens of each text, for it may not have read the first of them.
    """
    slots = torch.stack([(texts.root - 1).clamp(min=0), texts.root], 1)
    weights = on.fixed.models["draft"].weights
    # `check_trees` has checked it.
    assert weights is not None
    place = llama.ragged(weights, slots, texts.sequences, texts.span)._replace(take=texts.take)
    return _forward(on, "draft", place, texts, texts.last, 1)


def place_of(on: Trees, name: str, plan: TreePlan, texts: Texts) -> llama.Place:
    """Return slots and positions of all rows of the trees for one of the models, and the slots that each row sees."""
    weights = on.fixed.models[name].weights
    assert weights is not None
    slots = texts.root[:, None] + torch.arange(len(plan.sees), device=texts.root.device)
    positions = texts.root[:, None] + plan.depth
    # A text that waits may stand past the context.
    known = positions.clamp(max=weights.cos.shape[0] - 1)
    # The column of `sees` for each slot: the first for slots before the root, the last for slots beyond the tree.
    relative = torch.arange(texts.span, device=slots.device) - texts.root[:, None]
    bias = torch.zeros(plan.sees.shape, dtype=weights.cos.dtype, device=slots.device)
    bias = bias.masked_fill_(~plan.sees, -torch.inf)
    columns = (relative + 1).clamp(0, bias.shape[1] - 1)
    mask, near = bias[:, columns].transpose(0, 1)[:, None], None
    # A window counts positions, not slots: those of the tree's slots follow from the depths.
    if weights.window is not None:
        depth = torch.where(relative > 0, plan.depth[relative.clamp(0, len(plan.depths))], relative)
        near = llama.nearby(weights, mask, positions, (texts.root[:, None] + depth)[:, None, None])
    return llama.Place(weights.cos[known], weights.sin[known], mask, (texts.sequences, slots), texts.take, near)


def only(place: llama.Place, rows: Tensor) -> llama.Place:
    """Return the place of some rows (m,) of the trees."""
    assert place.mask is not None
    assert place.at is not None
    near, (sequences, slots) = place.near, place.at
    return place._replace(
        cos=place.cos[:, rows],
        sin=place.sin[:, rows],
        mask=place.mask[:, :, rows],
        at=(sequences, slots[:, rows]),
        near=None if near is None else near[:, :, rows],
    )


def nodes_logits(on: Trees, name: str, place: llama.Place, texts: Texts, tokens: Tensor) -> Tensor:
    """Return logits (b, m, V) of a model after tokens (b, m) of the trees at this place."""
    return _forward(on, name, place, texts, tokens, tokens.shape[1])


def _forward(on: Trees, name: str, place: llama.Place, texts: Texts, tokens: Tensor, rows: int) -> Tensor:
    """Return logits (b, rows, V) after the last tokens of one pass of a model over tokens (b, m).

    Keys and values of the tokens are written into the model's cache.
    """
    model, kv = on.fixed.models[name], on.fixed.caches[name].kv
    weights = model.weights
    assert weights is not None
    new = [(k.transpose(1, 2), v.transpose(1, 2)) for k, v in layers(kv)]
    seen = layers(kv[..., : texts.span, :])
    hidden = llama.forward(weights, seen, new, place, readable(model, tokens), rows)
    return fit_logits(llama.linear(hidden, weights.head, weights.head_bias), model.vocab_size)


def _tensor(w: Array) -> Tensor:
    """Return the array as a tensor."""
    return w if isinstance(w, Tensor) else torch.from_numpy(w)


def move(caches: list[Tensor], texts: Texts, path: Tensor) -> None:
    """Move keys and values of a path's nodes (b, D) behind the root, in place.

    All are read before the first is written.
    """
    first = texts.root[:, None] + 1
    goal, source = first + torch.arange(path.shape[1], device=path.device), first + path
    for kv in caches:
        # By slot: (2, layers, batch, slots, kv heads, head_dim).
        by_slot = kv.transpose(3, 4)
        moved = by_slot[:, :, texts.sequences, source]
        by_slot[:, :, texts.sequences, goal] = moved
