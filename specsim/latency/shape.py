"""What a model's weights and caches weigh: from a table of known models, or from a Hugging Face config.json."""

from __future__ import annotations

import re
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

from specsim.latency import config_fields
from specsim.latency.tables import find, of_hub


class ModelShape(NamedTuple):
    """A decoder's shape; parameters are counts, not billions.

    body: all layers, every expert included; head: the output projection; expert: one expert of one layer;
    experts = 0 says dense. `moe_layers` is how many layers have experts. queries: of the products that make a layer's
    queries, keys and values, 0 where they follow from the heads. kv_rank, rope: numbers of the compressed vector and of
    the rotary key that a layer of multi-head latent attention (MLA) caches per token, 0 elsewhere.

    Of drafters that read the target's states: drafter: "eagle", "eagle3" or "mtp"; fc: parameters of the projection
    that each step starts with; fusion: of the one that joins the target's states once a cycle; scored: tokens that a
    head with a vocabulary of its own scores, 0 for all.

    Examples
    --------
    >>> shape = ModelShape.named("llama-3.1-8b")
    >>> round((shape.body + shape.head) / 1e9, 2), shape.kv_values
    (7.5, 65536)
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    body: float
    head: float
    experts: int = 0
    experts_per_token: int = 0
    expert: float = 0.0
    moe_layers: int = 0
    queries: float = 0.0
    kv_rank: int = 0
    rope: int = 0
    drafter: str = ""
    fc: float = 0.0
    fusion: float = 0.0
    scored: int = 0

    @property
    def kv_values(self) -> int:
        """Numbers cached per token of context."""
        if self.kv_rank:
            return self.layers * (self.kv_rank + self.rope)
        return 2 * self.layers * self.kv_heads * self.head_dim

    @property
    def shared(self) -> float:
        """Parameters of the layers that every token reads."""
        return self.body - self.moe_layers * self.experts * self.expert

    @classmethod
    def named(cls, name: str) -> ModelShape:
        """The shape of a model in `specsim/latency/data/models.csv`, or of its id on a hub, as org/model, offline.

        ValueError lists the near names.
        """
        hub = isinstance(name, str) and re.fullmatch(r"[^/\s]+/[^/\s]+", name)
        row = of_hub(name) if hub else find("models", name, "model")
        ints: dict[str, Any] = {k: int(row[k]) for k in ("layers", "hidden", "heads", "kv_heads", "head_dim", "vocab")}
        body, head = float(row["body_params_b"]) * 1e9, float(row["head_params_b"]) * 1e9
        latent: dict[str, Any] = {}
        if row["kv_rank"]:
            latent = {"kv_rank": int(row["kv_rank"]), "rope": int(row["rope"])}
            latent["queries"] = float(row["queries_params_m"]) * 1e6
        if not row["experts"]:
            return cls(row["model"], body=body, head=head, **ints, **latent)
        return cls(
            row["model"],
            body=body,
            head=head,
            experts=int(row["experts"]),
            moe_layers=int(row["moe_layers"] or ints["layers"]),
            experts_per_token=int(row["experts_per_token"]),
            expert=float(row["expert_params_m"]) * 1e6,
            **ints,
            **latent,
        )

    @classmethod
    def from_config(cls, config: str | PathLike[str] | dict[str, Any]) -> ModelShape:
        """The shape that a Hugging Face config.json declares.

        Matrices are counted, norms and biases (below 0.1 %) are not. Sliding windows are taken for full attention, as
        `real` keeps their caches; a server that keeps the window only needs less. In how many bits weights are stored
        is not read: see `roofline`, dtype. EAGLE heads are known by their architecture, or the field
        speculators_model_type: see `ModelShape`.

        Parameters
        ----------
        config : str, path or dict
            The file, its folder, or what it holds.

        Returns
        -------
        ModelShape
            Named after the folder, or the field model_type.

        Raises
        ------
        ValueError
            A file that cannot be read, a missing or impossible field (named), or layers that are not counted here:
            encoders, linear attention, experts in some layers only.

        Examples
        --------
        >>> ModelShape.from_config({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        ...                         "intermediate_size": 128, "vocab_size": 100}).body
        81920.0
        """
        values, name = config_fields.read(config)
        kind = config_fields.drafter(values)
        values = config_fields.decoder(values, name)
        field = partial(config_fields.field, values, name)
        hidden = field("hidden_size", "n_embd", "d_model")
        attention = config_fields.attention(values, name, hidden)
        layers = field("num_hidden_layers", "n_layer")
        vocab = field("vocab_size")
        matrices = config_fields.matrices(values)
        ffn = field("intermediate_size", "ffn_dim", "n_inner", default=4 * hidden if matrices == 2 else None)
        own = {
            k: v for k, v in attention._asdict().items() if k in ("heads", "kv_heads", "head_dim", "kv_rank", "rope")
        }
        sizes = {"layers": layers, "hidden": hidden, "vocab": vocab, "head": float(vocab * hidden), **own}
        if attention.kv_rank:
            sizes["queries"] = float(attention.queries)
        mixed = layers * (attention.queries + hidden * attention.head_dim * attention.heads)
        if not field("num_experts", "num_local_experts", "n_routed_experts", default=0):
            shape = cls(name, body=float(mixed + layers * matrices * hidden * ffn), **sizes)
            if not kind:
                return shape
            scored = field("draft_vocab_size", default=0)
            return as_eagle(shape, kind, scored=scored, target_hidden=field("target_hidden_size", default=hidden))
        found = config_fields.experts(values, name, ffn, layers)
        moe, expert = layers - found.dense_layers, float(3 * hidden * found.width)
        body = mixed + found.dense_layers * 3 * hidden * ffn + moe * (3 * hidden * found.shared + hidden * found.number)
        return cls(
            name,
            body=body + moe * found.number * expert,
            experts=found.number,
            experts_per_token=found.per_token,
            expert=expert,
            moe_layers=moe,
            **sizes,
        )


def as_eagle(shape: ModelShape, kind: str, *, scored: int = 0, target_hidden: int = 0) -> ModelShape:
    """A decoder of one layer or few as an EAGLE head, "eagle" or "eagle3"; scored: tokens that its head scores, 0: all.

    EAGLE feeds each step with the embedding beside the target's state, through fc of (2 h, h). EAGLE-3 joins three
    states of the target once a cycle, through a projection of (3 h, h), and its first layer makes queries, keys and
    values from 2 h numbers.
    """
    if scored > shape.vocab:
        raise ValueError(f"{shape.name}: its head scores {scored} tokens, more than its vocabulary of {shape.vocab}")
    if kind == "eagle":
        return shape._replace(drafter=kind, fc=2.0 * shape.hidden * shape.hidden, scored=scored)
    plain = float(shape.hidden * shape.head_dim * (shape.heads + 2 * shape.kv_heads))
    return shape._replace(
        drafter=kind,
        body=shape.body + plain,
        queries=plain + plain / shape.layers,
        fusion=3.0 * (target_hidden or shape.hidden) * shape.hidden,
        scored=scored,
    )
