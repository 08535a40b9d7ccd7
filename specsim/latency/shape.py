"""What a model's weights and caches weigh: from a table of known models, or from a Hugging Face config.json."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from specsim.base import check
from specsim.latency.tables import find


class ModelShape(NamedTuple):
    """A decoder's shape; parameters are counts, not billions.

    body: all layers, every expert included; head: the output projection; expert: one expert of one layer;
    experts = 0 says dense. `moe_layers` is how many layers have experts.

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

    @property
    def kv_values(self) -> int:
        """Numbers cached per token of context."""
        return 2 * self.layers * self.kv_heads * self.head_dim

    @property
    def shared(self) -> float:
        """Parameters of the layers that every token reads."""
        return self.body - self.moe_layers * self.experts * self.expert

    @classmethod
    def named(cls, name: str) -> ModelShape:
        """The shape of a model in `specsim/latency/data/models.csv`; ValueError lists the near names."""
        row = find("models", name, "model")
        ints = {k: int(row[k]) for k in ("layers", "hidden", "heads", "kv_heads", "head_dim", "vocab")}
        body, head = float(row["body_params_b"]) * 1e9, float(row["head_params_b"]) * 1e9
        if not row["experts"]:
            return cls(row["model"], body=body, head=head, **ints)
        return cls(
            row["model"], body=body, head=head, experts=int(row["experts"]), moe_layers=ints["layers"],
            experts_per_token=int(row["experts_per_token"]), expert=float(row["expert_params_m"]) * 1e6, **ints,
        )  # fmt: skip

    @classmethod
    def from_config(cls, config: str | PathLike[str] | dict[str, Any]) -> ModelShape:
        """The shape that a Hugging Face config.json declares.

        Matrices are counted, norms and biases (below 0.1 %) are not. Sliding windows are taken for full attention,
        which overstates their caches. In how many bits weights are stored is not read: see `roofline`, dtype.

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
            encoders, linear attention, compressed caches, experts in some layers only.

        Examples
        --------
        >>> ModelShape.from_config({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        ...                         "intermediate_size": 128, "vocab_size": 100}).body
        81920.0
        """
        values, name = _read(config)
        values = values.get("text_config") or values
        if not isinstance(values, dict):
            raise ValueError(f"config {name}: text_config holds a {type(values).__name__}, not an object")
        _refuse(values, name)
        heads = _field(values, name, "num_attention_heads", "n_head")
        hidden = _field(values, name, "hidden_size", "n_embd", "d_model")
        layers = _field(values, name, "num_hidden_layers", "n_layer")
        vocab = _field(values, name, "vocab_size")
        single = values.get("multi_query") and not values.get("new_decoder_architecture")
        kv = 1 if single else _field(values, name, "num_key_value_heads", "num_kv_heads", default=heads)
        size = _field(values, name, "head_dim", default=hidden // heads)
        if heads % kv:
            raise ValueError(f"config {name}: {heads} query heads cannot share {kv} heads of the cache")
        if hidden % heads and values.get("head_dim") is None:
            raise ValueError(f"config {name}: hidden_size {hidden} is no multiple of its {heads} heads; give head_dim")
        # Families of the first generation have two matrices in a feed-forward block, those since have three.
        matrices = 2 if values.get("model_type") in _UNGATED else 3
        ffn = _field(values, name, "intermediate_size", "ffn_dim", "n_inner",
                     default=4 * hidden if matrices == 2 else None)  # fmt: skip
        experts = _field(values, name, "num_experts", "num_local_experts", "n_routed_experts", default=0)
        attention = hidden * size * (2 * heads + 2 * kv)
        if not experts:
            body = layers * (attention + matrices * hidden * ffn)
            return cls(name, layers, hidden, heads, kv, size, vocab, float(body), float(vocab * hidden))
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
            name, layers, hidden, heads, kv, size, vocab, body + moe * experts * expert, float(vocab * hidden),
            experts, per_token, expert, moe,
        )  # fmt: skip


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
_HYBRID = ("attn_layer_period", "attn_layer_indices", "full_attention_interval", "hybrid_override_pattern",
           "block_types", "mamba_d_state", "state_size", "ssm_cfg")  # fmt: skip


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
        ("kv_lora_rank", None, "caches one compressed vector a token"),
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
