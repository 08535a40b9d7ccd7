"""The sizes of a model's weights and caches: from a table of known models, or from a Hugging Face config.json."""

from __future__ import annotations

import re
from os import PathLike
from typing import Any, NamedTuple

from specsim.latency.configs.decoder import Decoder, read_decoder
from specsim.latency.configs.fields import read
from specsim.latency.configs.heads import FIELDS, Head, read_head
from specsim.latency.quantization import declared_cache, declared_weights
from specsim.latency.tables import configs, find, of_hub, of_published
from specsim.latency.weights import Weights


class Window(NamedTuple):
    """The number of layers that cache only the last tokens, and how many tokens."""

    layers: int = 0
    tokens: int = 0


class States(NamedTuple):
    """Layers that keep a state of fixed size instead of a cache: their number, weights of one, numbers of its state."""

    layers: int = 0
    weights: float = 0.0
    numbers: int = 0


class Indexer(NamedTuple):
    """The indexer of sparse attention, which caches `size` numbers a token and picks the `topk` tokens of a query."""

    heads: int = 0
    size: int = 0
    topk: int = 0


class ModelShape(NamedTuple):
    """A decoder's shape; parameters are counts, not billions.

    Parameters: body, of all layers, every expert included; head, of the output projection; expert, of one expert of one
    layer; queries, of the products that make a layer's queries, keys and values, 0 where that follows from the heads.
    Experts: experts of a layer, 0 in a dense model; experts_per_token; moe_layers, the layers that have experts.
    kv_rank, rope: numbers of the compressed vector and of the rotary key that a layer of multi-head latent attention
    (MLA) caches per token, 0 elsewhere.

    Drafters have further fields. drafter: "eagle", "eagle3", "peagle", "mtp", "dflash", "parallel" or ""; fc:
    parameters of the projection that each step starts with; fusion: parameters of the projection that joins the
    target's states once a cycle; scored: tokens that a head with a vocabulary of its own scores, 0 for all; one_pass: a
    step makes a whole block; block: tokens of a block, of which the first is known, 0 where their number is free.

    attention_layers: layers that cache keys and values, 0 for all; window, states, indexer: see `Window`, `States`,
    `Indexer`. feed_layers: layers with a feed-forward block, 0 for all. From the config: stored, the type of its
    weights; cache, the type of its keys and values, "" where it does not say; unread, fields that were not understood;
    assumed, fields that the config leaves out, with the values that the code of its model_type takes then; notes, how
    its model_type was found, where the file does not say it plainly.

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
    block: int = 0
    one_pass: bool = False
    attention_layers: int = 0
    window: Window = Window()
    states: States = States()
    indexer: Indexer = Indexer()
    feed_layers: int = 0
    stored: Weights | None = None
    unread: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    cache: str = ""
    notes: tuple[str, ...] = ()

    @property
    def caching_layers(self) -> int:
        """Layers that cache keys and values."""
        return self.attention_layers or self.layers

    @property
    def layer_values(self) -> int:
        """Numbers that one caching layer keeps per token."""
        return self.kv_rank + self.rope if self.kv_rank else 2 * self.kv_heads * self.head_dim

    @property
    def kv_values(self) -> int:
        """Numbers cached per token of context, by windowed layers too as long as their window is not full."""
        return self.caching_layers * (self.layer_values + self.indexer.size)

    @property
    def state_values(self) -> int:
        """Numbers that layers with a state keep of one sequence, whatever its length."""
        return self.states.layers * self.states.numbers

    def held_values(self, context: int) -> int:
        """Return numbers kept of one sequence of this length: caches, windows and states."""
        all_tokens = self.caching_layers - self.window.layers
        windowed = self.window.layers * self.layer_values * min(context, self.window.tokens)
        indexed = self.caching_layers * self.indexer.size * context
        return all_tokens * self.layer_values * context + windowed + indexed + self.state_values

    @property
    def shared(self) -> float:
        """Parameters of the layers that every token reads."""
        return self.body - self.moe_layers * self.experts * self.expert

    @property
    def active(self) -> float:
        """Parameters that one token reads: of the layers, with its own experts, and of the head."""
        return self.shared + self.moe_layers * self.experts_per_token * self.expert + self.head

    @classmethod
    def named(cls, name: str) -> ModelShape:
        """Return the shape of a model in `specsim/latency/data`, or of its id on a hub, as org/model, offline.

        Models with layers of several kinds are read from the fields of their config, as `from_config` reads them.

        ValueError lists the near names.
        """
        # The row: by the published name, the id on a hub, or the name in the table.
        published = of_published(name) if isinstance(name, str) else None
        hub = isinstance(name, str) and re.fullmatch(r"[^/\s]+/[^/\s]+", name)
        row = published or (of_hub(name) if hub else find("models", name, "model"))
        if row["model"] in configs():
            _, config = configs()[row["model"]]
            return cls.from_config(config)._replace(name=row["model"])

        # Numbers that every row has.
        ints: dict[str, Any] = {k: int(row[k]) for k in ("layers", "hidden", "heads", "kv_heads", "head_dim", "vocab")}
        body, head = float(row["body_params_b"]) * 1e9, float(row["head_params_b"]) * 1e9

        # Windows, stored types, latent attention, experts: fields of some rows.
        optional: dict[str, Any] = {}
        if row["windowed"]:
            optional["window"] = Window(int(row["windowed"]), int(row["window"]))
        if row["stored"]:
            optional["stored"] = declared_weights({"quantization_config": {"quant_method": row["stored"]}}, name)
        if row["kv_rank"]:
            optional |= {"kv_rank": int(row["kv_rank"]), "rope": int(row["rope"])}
            optional["queries"] = float(row["queries_params_m"]) * 1e6
        if not row["experts"]:
            return cls(row["model"], body=body, head=head, **ints, **optional)
        return cls(
            row["model"],
            body=body,
            head=head,
            experts=int(row["experts"]),
            moe_layers=int(row["moe_layers"] or ints["layers"]),
            experts_per_token=int(row["experts_per_token"]),
            expert=float(row["expert_params_m"]) * 1e6,
            **ints,
            **optional,
        )

    @classmethod
    def from_config(cls, config: str | PathLike[str] | dict[str, Any]) -> ModelShape:
        """Return the shape that a Hugging Face config.json declares.

        Matrices are counted, norms and biases (below 0.1 %) are not. The layers are read as the code of its model_type
        lays them out. A field on layers that is not understood is an error; any other is listed in `unread`. `stored`
        has the bits in which weights are stored: see `roofline`, weight_bytes. EAGLE heads and block drafters are
        recognised by their architecture or their fields.

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
            A file that cannot be read, a missing or impossible field (named), or a model_type, layers or
            quantization that are not counted here, with what works instead.

        Examples
        --------
        >>> ModelShape.from_config({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        ...                         "intermediate_size": 128, "vocab_size": 100}).body
        81920.0
        """
        values, name, place = read(config)
        try:
            head, inner = read_head(values, place)
            decoder = read_decoder(inner, place, FIELDS if head.kind else frozenset())
            shape = of_decoder(name, decoder)
            stored = declared_weights(values, place, decoder.modules)
            shape = shape._replace(stored=stored, cache=declared_cache(values, place))
        except (TypeError, AttributeError, LookupError, ArithmeticError) as error:
            raise ValueError(f"config {place} has a field of a form that is not read: {error}") from None
        return as_drafter(shape, head) if head.kind else shape


def of_decoder(name: str, decoder: Decoder) -> ModelShape:
    """Return the shape of a decoder that was read from a config."""
    # Weights of queries, keys and values; 0 stands for those of plain grouped attention, which
    # follow from the heads.
    attention = decoder.attention
    of_queries = attention.heads * attention.head_dim * decoder.hidden
    of_keys_and_values = 2 * attention.kv_heads * attention.head_dim * decoder.hidden
    queries = float(attention.queries)
    if attention.queries == of_queries + of_keys_and_values:
        queries = 0.0

    # Numbers of layers, where 0 stands for all; only hybrids have states.
    attention_layers = decoder.attention_layers if decoder.attention_layers < decoder.layers else 0
    feed_layers = decoder.feed_layers if decoder.feed_layers < decoder.layers else 0
    states = States()
    if decoder.state_layers:
        states = States(decoder.state_layers, float(decoder.state.weights), decoder.state.numbers)
    return ModelShape(
        name,
        decoder.layers,
        decoder.hidden,
        attention.heads,
        attention.kv_heads,
        attention.head_dim,
        decoder.vocab,
        float(decoder.body),
        float(decoder.vocab * decoder.hidden),
        experts=decoder.experts,
        experts_per_token=decoder.per_token,
        expert=float(decoder.expert),
        moe_layers=decoder.moe_layers,
        queries=queries,
        kv_rank=attention.kv_rank,
        rope=attention.rope,
        attention_layers=attention_layers,
        window=Window(decoder.windowed, decoder.window),
        states=states,
        indexer=Indexer(attention.index_heads, attention.index_size, attention.index_topk),
        feed_layers=feed_layers,
        unread=decoder.unread,
        assumed=decoder.assumed,
        notes=decoder.notes,
    )


def as_drafter(shape: ModelShape, head: Head) -> ModelShape:
    """Return the shape of a decoder as the drafter that its config describes."""
    if head.kind == "parallel":
        return shape._replace(drafter=head.kind, one_pass=True)
    if head.kind == "dflash":
        joined = float(head.joined * (head.target_hidden or shape.hidden) * shape.hidden)
        return shape._replace(drafter=head.kind, fusion=joined, scored=head.scored, block=head.block, one_pass=True)
    drafter = as_eagle(shape, head.kind, scored=head.scored, target_hidden=head.target_hidden)
    return drafter._replace(one_pass=head.kind == "peagle")


def as_eagle(shape: ModelShape, kind: str, *, scored: int = 0, target_hidden: int = 0) -> ModelShape:
    """Return the shape of a decoder as an EAGLE head, "eagle" or "eagle3".

    scored: tokens that its head scores, 0 for all. target_hidden: width of the target's states, 0 for the head's.

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
