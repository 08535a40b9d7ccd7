"""Drafts of any width and depth, cut from a trained one of `real.draft.lowrank`.

The principal axes of the donor's states become those of a draft. It keeps the donor's attention
heads, layers and inner places of feed-forward layers as far as it has room for them. What the donor
does not fill begins as in an untrained draft, whose layers change little.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from real.draft import lowrank
from real.draft._parts import Frozen, rms
from real.papers.lab.aligning import Lesson

# Size at which untrained rows of the two maps begin, over that of an untrained draft: they hardly
# disturb what was cut.
_FAINT = 0.1


def recipe(donor: Any, size: float, layers: int) -> dict[str, int]:
    """Return the sizes of a draft with so many parameters inside its layers.

    A layer has 4 width^2 + 3 width ffn of them. The width is the least multiple of the donor's head
    width from (size / 12 layers)^0.5 on, at which ffn would be 8/3 width; ffn takes what remains.

    Examples
    --------
    >>> donor = lowrank.network({"hidden": 256, "width": 32, "heads": 4, "ffn": 64, "layers": 1})
    >>> recipe(donor, 12 * 32**2, 2)
    {'hidden': 256, 'width': 24, 'heads': 3, 'ffn': 53, 'layers': 2}
    """
    head = donor.read.shape[0] // donor.heads
    heads = math.ceil((size / (12 * layers)) ** 0.5 / head)
    width = heads * head
    ffn = round((size / layers - 4 * width**2) / (3 * width))
    return {"hidden": donor.hidden, "width": width, "heads": heads, "ffn": ffn, "layers": layers}


def inside(net: Any) -> int:
    """Return the parameters of the matrices inside the layers of a draft."""
    parts = (net.qkv, net.out, net.gate_up, net.down)
    return sum(w.numel() for part in parts for w in part)


@torch.no_grad()
def principal_axes(donor: Any, ends: Frozen, lesson: Lesson) -> Tensor:
    """Return orthonormal columns (width, width), the leading ones first, of what the donor's layers and head read.

    They are those of its normed states, before each layer and at the end, along the answers of a lesson.
    """
    embedded = F.linear(F.embedding(lesson.tokens[lesson.is_answer], ends.embedding), donor.read)
    covariance = rms(embedded).T @ rms(embedded)
    for count in range(1, len(donor.qkv) + 1):
        states = lowrank.on_texts(_first_layers(donor, count), ends, lesson.tokens)[lesson.is_answer]
        covariance += states.T @ states
    axes: Tensor = torch.linalg.eigh(covariance).eigenvectors.flip(1)
    return axes


def _first_layers(donor: Any, count: int) -> Any:
    """Return the donor with its first layers alone, and a last norm without weights."""
    part = copy.deepcopy(donor)
    for name in ("norm_in", "qkv", "out", "norm_mlp", "gate_up", "down"):
        setattr(part, name, getattr(part, name)[:count])
    part.norm.data.fill_(1)
    return part


@torch.no_grad()
def cut(donor: Any, sizes: dict[str, int], principal: Tensor, seed: int) -> Any:
    """Return a draft of these sizes that begins as the part of the donor that it has room for.

    Parameters
    ----------
    donor : lowrank.Small
        The trained draft; not changed.
    sizes : dict
        As `recipe` returns them: the width of a head is the donor's.
    principal : Tensor
        As `principal_axes` returns them.
    seed : int
        Of the weights that do not come from the donor.

    Returns
    -------
    lowrank.Small
        With the donor's tokens. A draft of the donor's sizes has its laws.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net: Any = lowrank.network(sizes)
    net.tokens = donor.tokens
    width, of_donor = sizes["width"], donor.read.shape[0]

    # The axes. Weights of norms are folded into the matrices after them.
    write = donor.norm[:, None] * donor.write
    shared = min(width, of_donor)
    axes = donor.read.new_zeros(of_donor, width)
    axes[:, :shared] = principal[:, :shared]
    # A norm divides by the root mean square over more or fewer places.
    scale = (of_donor / width) ** 0.5

    # The two maps.
    net.read.mul_(_FAINT)[:shared] = (axes.T @ donor.read)[:shared]
    net.write.mul_(_FAINT)[:shared] = scale * (axes.T @ write)[:shared]

    # The first layers; the last one of a draft that has fewer than the donor is the donor's last.
    count = len(donor.qkv)
    kept = [*range(min(count, sizes["layers"]))]
    if len(kept) < count:
        kept[-1] = count - 1
    for i, of_layer in enumerate(kept):
        _cut_attention(net, i, donor, of_layer, axes, scale)
        _cut_feed_forward(net, i, donor, of_layer, axes, scale)
    return net


def _cut_attention(net: Any, i: int, donor: Any, of_layer: int, axes: Tensor, scale: float) -> None:
    """Give layer i of a draft the first heads of a layer of the donor."""
    of_donor, width = axes.shape
    head, heads = of_donor // donor.heads, min(net.heads, donor.heads)

    # Queries, keys and values (3, heads, width of a head, width of what is read).
    qkv = (donor.qkv[of_layer] * donor.norm_in[of_layer]).view(3, donor.heads, head, of_donor)
    net.qkv[i].view(3, net.heads, head, width)[:, :heads] = scale * (qkv[:, :heads] @ axes)
    net.out[i][:, : heads * head] = axes.T @ donor.out[of_layer][:, : heads * head]


def _cut_feed_forward(net: Any, i: int, donor: Any, of_layer: int, axes: Tensor, scale: float) -> None:
    """Give layer i of a draft the inner places with the largest weights of a layer of the donor."""
    of_donor, width = axes.shape
    gate_up = (donor.gate_up[of_layer] * donor.norm_mlp[of_layer]).view(2, -1, of_donor)
    weight = donor.down[of_layer].norm(dim=0) * gate_up.norm(dim=2).prod(dim=0)
    ffn = net.down[i].shape[1]
    chosen = weight.topk(min(ffn, len(weight))).indices
    net.gate_up[i].view(2, ffn, width)[:, : len(chosen)] = scale * (gate_up[:, chosen] @ axes)
    net.down[i][:, : len(chosen)] = axes.T @ donor.down[of_layer][:, chosen]
