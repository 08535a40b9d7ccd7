"""A small Llama that borrows the target's embedding and head through two maps of low rank.

With a vocabulary of 49,152 tokens these two tables would be most of such a model. Here E A' (A:
width x hidden) is its embedding and H B' (B: width x hidden) its head, where E and H are those of
the target: only A, B and the layers are shipped. The model reads the text by itself, and is a
language model like any other once the tables are made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from real.decode.proposer import Drafter
from real.draft import _rollout, _weights, lm, restricted
from real.draft._parts import Frozen, frozen, weights_of, with_tokens
from real.models import llama, store
from real.models.model import LanguageModel
from real.models.weights import Layer, Weights, pack

NAME = "a small language model on the target's embedding and head"
PAPER = "arXiv:2211.17192"
LAYERS = ()
RECIPES: dict[str, dict[str, Any]] = {
    "smollm2/lowrank": {"drafter": "lowrank", "width": 256, "heads": 4, "ffn": 704, "layers": 3, "steps": 5500}
    | _weights.SMOLLM2,
}
# Base of the rotations by position, as in Llama.
_ROPE_BASE = 10_000.0
# Added to the mean square in a norm, as in Llama.
_EPS = 1e-5


class Small(nn.Module):
    """A Llama between two maps.

    Parameters
    ----------
    hidden, width, heads, ffn, layers : int
        Width of the target's states, width of its own states, attention heads, width inside the
        feed-forward part, layers.
    """

    def __init__(self, hidden: int, width: int, heads: int, ffn: int, layers: int) -> None:
        super().__init__()
        # Tokens of its head; see `with_tokens`.
        self.register_buffer("tokens", None)
        self.hidden, self.heads = hidden, heads
        self.read = nn.Parameter(torch.randn(width, hidden) * hidden**-0.5)
        self.write = nn.Parameter(torch.randn(width, hidden) * hidden**-0.5)
        self.norm = nn.Parameter(torch.ones(width))

        def matrices(rows: int, columns: int, scale: float) -> nn.ParameterList:
            """Return a random matrix for each layer, with entries of standard deviation `scale`."""
            return nn.ParameterList([scale * torch.randn(rows, columns) for _ in range(layers)])

        # Residual branches begin small, so that the first steps are those of a bigram model.
        self.norm_in = nn.ParameterList([torch.ones(width) for _ in range(layers)])
        self.qkv = matrices(3 * width, width, width**-0.5)
        self.out = matrices(width, width, 0.1 * width**-0.5)
        self.norm_mlp = nn.ParameterList([torch.ones(width) for _ in range(layers)])
        self.gate_up = matrices(2 * ffn, width, width**-0.5)
        self.down = matrices(width, ffn, 0.1 * ffn**-0.5)


def network(recipe: dict[str, Any]) -> Small:
    """Return the model of a recipe, untrained; its first weights come from torch's generator."""
    sizes = (recipe[name] for name in ("hidden", "width", "heads", "ffn", "layers"))
    return with_tokens(Small(*sizes), recipe)


def reads(recipe: dict[str, Any]) -> tuple[int, ...]:
    """Return the layers of the target that it is trained on: the last, whose laws it learns."""
    return (-1,)


def lesson(net: nn.Module, target: LanguageModel, recipe: dict[str, Any]) -> Callable[..., Tensor]:
    """Return the loss to train on: cross-entropy with the target's own rows.

    Parameters
    ----------
    net : Small
        The learner.
    target : LanguageModel
        The frozen target, on the fast path.
    recipe : dict
        The model's recipe.

    Returns
    -------
    callable
        (tokens (b, m), states (b, m, 1, hidden) of `reads`, a generator, weight (b, m) of each
        place, by default all the same) -> nats a token.
    """
    ends = frozen(target, recipe["hidden"], net.tokens)  # type: ignore[arg-type]

    def loss(
        tokens: Tensor,
        states: Tensor,
        rng: torch.Generator,
        weight: Tensor | None = None,
    ) -> Tensor:
        """Return the cross-entropy of the model's laws with the target's along whole texts."""
        # H B' x is the target's head on B' x, a state of the target's width.
        narrow = on_texts(net, ends, tokens)
        read = F.linear(narrow, net.get_parameter("write").T)
        last = states[:, :, 0]
        return _rollout.crossed(ends, last, read, weight)

    return loss


def on_texts(net: Any, ends: Frozen, tokens: Tensor) -> Tensor:
    """Return the model's last states (b, m, width) along whole texts (b, m), normed.

    They are differentiable in the parameters.
    """
    # The embeddings of all places, by which gradients reach A.
    b, m = tokens.shape
    embedded = F.linear(F.embedding(tokens, ends.embedding), net.read)

    # The model with these embeddings as its table: each place is a token of its own. The head is
    # not used.
    weights = _weights_of(net, embedded.reshape(b * m, -1), net.write, m, lambda w: w)
    token_ids = torch.arange(b * m, device=tokens.device).view(b, m)

    # Room for keys and values, and a mask (1, 1, m, m) under which no place sees a later one.
    size = (b, net.heads, m, weights.cos.shape[-1])
    keys_values = [(embedded.new_zeros(size), embedded.new_zeros(size)) for _ in weights.layers]
    mask = embedded.new_full((1, 1, m, m), -torch.inf).triu_(1)
    place = llama.Place(weights.cos[:m], weights.sin[:m], mask)
    return llama.forward(weights, keys_values, keys_values, place, token_ids, m)


def _weights_of(
    net: Any,
    embedding: Tensor,
    head: Tensor,
    context: int,
    pack_matrix: Callable[[Tensor], Tensor],
) -> Weights:
    """Return the model in the layout of the fast path.

    Its tables are `embedding` (ids, width), whose type all weights take, and `head` (tokens, width).
    `pack_matrix` brings matrices into the form in which a pass multiplies them.
    """
    # The parameters by name, and the parts of each layer; no part has a bias.
    parts = {name: w.to(embedding) for name, w in net.named_parameters()}
    layers = [
        Layer(
            norm_in=parts[f"norm_in.{i}"],
            qkv=pack_matrix(parts[f"qkv.{i}"]),
            qkv_bias=None,
            out=pack_matrix(parts[f"out.{i}"]),
            out_bias=None,
            norm_mlp=parts[f"norm_mlp.{i}"],
            gate_up=pack_matrix(parts[f"gate_up.{i}"]),
            gate_up_bias=None,
            down=pack_matrix(parts[f"down.{i}"]),
            down_bias=None,
        )
        for i in range(len(net.qkv))
    ]
    cos, sin = _rotations(context, len(parts["norm"]) // net.heads, embedding)
    return Weights(
        embedding,
        layers,
        parts["norm"],
        head,
        head_bias=None,
        eps=_EPS,
        cos=cos,
        sin=sin,
        heads=net.heads,
        kv_heads=net.heads,
    )


def _rotations(context: int, width: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosines and sines (context, 1, width) of Llama's rotations.

    The first half of the sines is negated, so that a rotation is x cos + (x with its halves
    swapped) sin.
    """
    pairs = torch.arange(0, width, 2, device=like.device, dtype=torch.float64)
    rates = _ROPE_BASE ** (-pairs / width)
    angles = torch.arange(context, device=like.device, dtype=torch.float64)[:, None] * rates
    cos, sin = angles.cos(), angles.sin()
    cos, sin = torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1)
    # An axis of length 1 for the heads.
    return cos.unsqueeze(1).to(like), sin.unsqueeze(1).to(like)


def shipped(name: str) -> Small:
    """Return the trained model of this name; ValueError if its weights are not there."""
    return _weights.load(name, network(RECIPES[name]), RECIPES[name])


@torch.no_grad()
def model_of(target: LanguageModel, net: nn.Module) -> LanguageModel:
    """Return the language model that the network and the target's two tables make.

    Parameters are those of `drafter`.
    """
    # The model's tables E A' and H B', from those of the target and the two maps.
    ends = frozen(target, net.hidden, net.tokens)  # type: ignore[arg-type]
    read, write = (getattr(net, name).to(ends.head) for name in ("read", "write"))
    embedding, head = ends.embedding @ read.T, ends.head @ write.T
    context = len(weights_of(target).cos)
    weights = replace(_weights_of(net, embedding, pack(head), context, pack), head_bias=ends.bias)

    # Bytes that a pass reads, and parameters: the tables borrowed from the target are not counted.
    matrices = [w for layer in weights.layers for w in layer if isinstance(w, Tensor)]
    size = sum(w.nbytes for w in [*matrices, weights.norm]) + head.nbytes
    parameters = sum(w.numel() for w in net.parameters())
    model = replace(
        target, weights=weights, new_store=partial(store.Llama, weights), weight_bytes=size, parameters=parameters
    )
    return model if ends.tokens is None else restricted.placed(model, ends.tokens)


def drafter(net: nn.Module, target: LanguageModel) -> Drafter:
    """Return the model as a drafter.

    Parameters
    ----------
    net : Small
        The model, as `shipped` returns it.
    target : LanguageModel
        The target, whose embedding and head the model borrows.

    Returns
    -------
    Drafter
        It may stop after any draft.

    Raises
    ------
    ValueError
        The target is not on the fast path, or has states of another width.

    Examples
    --------
    >>> from real import TINY, Warping, load
    >>> pair = load(TINY / "target", TINY / "draft")
    >>> net = network({"hidden": 256, "width": 32, "heads": 4, "ffn": 64, "layers": 1})
    >>> drafter(net, pair.target).along(pair.target, [5, 6], [7, 8, 9], 2, Warping()).q.shape
    (3, 2)
    """
    return lm.drafter(model_of(target, net))


drafting = drafter
