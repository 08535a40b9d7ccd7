"""What a model's weights and caches weigh: from a table of known models, or from a Hugging Face config.json."""

from __future__ import annotations

import json
import re
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from specsim.base import check
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

        Matrices are counted, norms and biases (below 0.1 %) are not. Sliding windows are taken for full attention,
        which overstates their caches. In how many bits weights are stored is not read: see `roofline`, dtype. EAGLE
        heads are known by their architecture, or the field speculators_model_type: see `ModelShape`.

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
        values, name = _read(config)
        kind = _drafter(values)
        values = values.get("text_config") or values
        if not isinstance(values, dict):
            raise ValueError(f"config {name}: text_config holds a {type(values).__name__}, not an object")
        inner = values.get("transformer_layer_config")
        if isinstance(inner, dict):
            values = {"draft_vocab_size": values.get("draft_vocab_size"), **inner}
        _refuse(values, name)
        heads = _field(values, name, "num_attention_heads", "n_head")
        hidden = _field(values, name, "hidden_size", "n_embd", "d_model")
        layers = _field(values, name, "num_hidden_layers", "n_layer")
        vocab = _field(values, name, "vocab_size")
        single = values.get("multi_query") and not values.get("new_decoder_architecture")
        kv = 1 if single else _field(values, name, "num_key_value_heads", "num_kv_heads", default=heads)
        size = _field(values, name, "head_dim", default=hidden // heads)
        if values.get("kv_lora_rank") is not None:
            latent = _latent(values, name, hidden, heads)
            kv, size = 1, latent["value"]
        else:
            latent = {}
        if heads % kv:
            raise ValueError(f"config {name}: {heads} query heads cannot share {kv} heads of the cache")
        if hidden % heads and values.get("head_dim") is None and not latent:
            raise ValueError(f"config {name}: hidden_size {hidden} is no multiple of its {heads} heads; give head_dim")
        # Families of the first generation have two matrices in a feed-forward block, those since have three.
        matrices = 2 if values.get("model_type") in _UNGATED else 3
        ffn = _field(
            values, name, "intermediate_size", "ffn_dim", "n_inner", default=4 * hidden if matrices == 2 else None
        )
        experts = _field(values, name, "num_experts", "num_local_experts", "n_routed_experts", default=0)
        extra: dict[str, Any] = {}
        if latent:
            extra = {"queries": float(latent["queries"]), "kv_rank": latent["rank"], "rope": latent["rope"]}
        queries = latent["queries"] if latent else hidden * size * (heads + 2 * kv)
        attention = queries + hidden * size * heads
        if not experts:
            body = layers * (attention + matrices * hidden * ffn)
            dense_shape = cls(name, layers, hidden, heads, kv, size, vocab, float(body), float(vocab * hidden), **extra)
            if not kind:
                return dense_shape
            scored = _field(values, name, "draft_vocab_size", default=0)
            wide = _field(values, name, "target_hidden_size", default=hidden)
            return as_eagle(dense_shape, kind, scored=scored, target_hidden=wide)
        per_token = _field(values, name, "num_experts_per_tok", "num_experts_per_token")
        width = _field(values, name, "moe_intermediate_size", default=ffn)
        count = _field(values, name, "n_shared_experts", default=0)
        shared = _field(values, name, "shared_expert_intermediate_size", default=count * width)
        dense = _field(values, name, "first_k_dense_replace", default=0)
        if not per_token <= experts:
            raise ValueError(f"config {name}: num_experts_per_tok is {per_token}, more than the {experts} experts")
        if dense >= layers:
            raise ValueError(f"config {name}: first_k_dense_replace is {dense} of {layers} layers")
        moe, expert = layers - dense, float(3 * hidden * width)
        body = layers * attention + dense * 3 * hidden * ffn + moe * (3 * hidden * shared + hidden * experts)
        return cls(
            name,
            layers,
            hidden,
            heads,
            kv,
            size,
            vocab,
            body + moe * experts * expert,
            float(vocab * hidden),
            experts,
            per_token,
            expert,
            moe,
            **extra,
        )


def _latent(values: dict[str, Any], name: str, hidden: int, heads: int) -> dict[str, int]:
    """What a layer of multi-head latent attention caches and multiplies."""
    rank, missing = values["kv_lora_rank"], [f for f in _LATENT if values.get(f) is None]
    if missing:
        raise ValueError(
            f"config {name} caches one compressed vector a token (kv_lora_rank is {rank}), but has no "
            f"{' and no '.join(missing)}"
        )
    rank, rope, plain, value = (_field(values, name, f) for f in ("kv_lora_rank", *_LATENT))
    query = values.get("q_lora_rank")
    wide = heads * (plain + rope)
    made = hidden * wide if query is None else _field(values, name, "q_lora_rank") * (hidden + wide)
    made += hidden * (rank + rope) + rank * heads * (plain + value)
    return {"rank": rank, "rope": rope, "value": value, "queries": made}


def _drafter(values: dict[str, Any]) -> str:
    """ "eagle3", "eagle" or "": what the architecture of a config says of itself."""
    named = values.get("architectures")
    words = [str(values.get("speculators_model_type") or ""), *(map(str, named) if isinstance(named, list) else ())]
    said = " ".join(words).lower()
    if "eagle" not in said:
        return ""
    return "eagle3" if "eagle3" in said or values.get("draft_vocab_size") is not None else "eagle"


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


_LATENT = ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")

_UNGATED = {
    "gpt2",
    "opt",
    "gpt_neox",
    "gpt_neo",
    "gptj",
    "bloom",
    "falcon",
    "phi",
    "starcoder2",
    "gpt_bigcode",
    "nemotron",
}


_EXPERTS = ("interleave_moe_layer_step", "decoder_sparse_step", "expert_layer_period", "moe_layer_freq")
_HYBRID = (
    "attn_layer_period",
    "attn_layer_indices",
    "full_attention_interval",
    "hybrid_override_pattern",
    "block_types",
    "mamba_d_state",
    "state_size",
    "ssm_cfg",
)


def _read(config: str | PathLike[str] | dict[str, Any]) -> tuple[dict[str, Any], str]:
    if isinstance(config, dict):
        return config, str(config.get("_name_or_path") or config.get("model_type") or "model")
    path = Path(config)
    path = path / "config.json" if path.is_dir() else path
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"config {path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"config {path} is not JSON: {error}") from None
    except RecursionError:
        raise ValueError(f"config {path} is nested too deep") from None
    if not isinstance(values, dict):
        raise ValueError(f"config {path} holds a {type(values).__name__}, not an object")
    return values, path.parent.name or path.stem if path.name == "config.json" else path.stem


def _refuse(values: dict[str, Any], name: str) -> None:
    """Fields that say that the caches or layers are not the ones counted here."""
    unlike: list[tuple[str, Any, str]] = [
        ("is_encoder_decoder", False, "has an encoder"),
        *((field, 1, "has experts in some layers only") for field in _EXPERTS),
        ("mlp_only_layers", [], "has experts in some layers only"),
        *((field, None, "has attention in some layers only") for field in _HYBRID),
    ]
    for field, plain, why in unlike:
        if values.get(field) not in (None, plain):
            raise ValueError(f"config {name} {why} ({field} is {values[field]}); give the ModelShape by hand")
    other = set(values.get("layer_types") or ()) - {"full_attention", "sliding_attention", "chunked_attention"}
    if other:
        raise ValueError(f"config {name} has layers of type {', '.join(sorted(other))}; give the ModelShape by hand")


def _field(values: dict[str, Any], config: str, *names: str, default: int | None = None) -> int:
    """The first of these fields that is there; the default where none is, an error where there is no default."""
    for name in names:
        if values.get(name) is not None:
            return check.integer(values[name], f"config {config}: {name}", 0 if default == 0 else 1)
    if default is None:
        raise ValueError(f"config {config} has no {' or '.join(names)}; its fields: {', '.join(sorted(values))}")
    return default
