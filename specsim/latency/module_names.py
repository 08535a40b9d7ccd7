"""Which modules of a decoder a name or a pattern in a quantization_config means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from typing import NamedTuple

from specsim.latency.configs.modules import Module, Modules

HEAD = "lm_head"
# What stands before the number of a layer, in files of several families.
_PREFIXES = (
    "model.layers",
    "model.language_model.layers",
    "language_model.model.layers",
    "backbone.layers",
    "transformer.h",
    "model.decoder.layers",
    "gpt_neox.layers",
    "layers",
)
_LAYER = re.compile(r"(?:^|[.*])(?:layers|h|blocks)\\?\.(\d+)(?=$|[.\\])")
_BEYOND = re.compile(r"layers\.(\d+)(?=$|[.*])")
_HEADS = re.compile(r"(^|[.*:])(lm_head|embed_out|output_head)")
# Modules that are not counted: routers, norms and others below 1 % of a layer's weights, by the words of their names.
_SMALL = re.compile(
    r"(gate|router|shared_expert_gate|expert_gate|[a-z_]*norm\d?|ln_\w+|embed\w*|wte|wpe|rotary\w*|conv1d|A_log|dt_bias"
    r"|e_score_correction_bias|bias|D|emb|indexer|weights_proj|x_proj|dt_proj|compressor|proj_out|score)"
)
# Modules beside the decoder: encoders of pictures and sounds, and heads that draft.
_BESIDE = re.compile(
    r"vision|visual|vit|image|audio|speech|mm_|multi_?modal|projector|connector|merger|patch|mtp|nextn|eh_proj|mlp1|"
    r"encoder|sam_model|resampler|talker|token2wav|aligner"
)


class Selection(NamedTuple):
    """What names mean: modules by their place in a list, whether the head is among them, and names not understood."""

    places: frozenset[int] = frozenset()
    head: bool = False
    strange: tuple[str, ...] = ()


def select(names: Iterable[str], modules: Modules) -> Selection:
    """Return what these names mean: whole names, parts of them, patterns with `*`, or regular expressions after `re:`.

    A name of experts that does not mean all of a layer's is not understood.
    """
    places: set[int] = set()
    head, strange = False, []
    for name in _joined_experts(names, modules.experts):
        matched = _places(name, modules)
        is_head = _is_head(name)
        if not matched and not is_head and not _is_apart(name, modules.layers):
            strange.append(name)
        places |= matched
        head = head or is_head
    return Selection(frozenset(places), head, tuple(strange))


def _joined_experts(names: Iterable[str], number: int) -> list[str]:
    """Return the names with those of single experts joined: one name where all `number` experts of a layer are named.

    With 2 experts, mlp.experts.0.up and mlp.experts.1.up become mlp.experts.0.up. Either of them without the other
    becomes "mlp.experts.0.up (some experts)", which no module has.
    """
    # Names that differ in the number of the expert alone, by the name with the number 0.
    joined: dict[str, set[str]] = {}
    for name in names:
        match = None if name.startswith("re:") else re.search(r"experts\.(\d+)(?=$|\.)", name)
        key = name if match is None else f"{name[: match.start(1)]}0{name[match.end(1) :]}"
        joined.setdefault(key, set()).add(name)

    # Names of no single expert stay as they are.
    result: list[str] = []
    for key, group in joined.items():
        is_whole = len(group) == max(number, 1) or not re.search(r"experts\.\d", key) or key.startswith("re:")
        result += [key] if is_whole else [f"{key} (some experts)"]
    return result


def _places(name: str, modules: Modules) -> set[int]:
    """Return the places of the modules that a name means."""
    # Layers of an encoder, or of a module that drafts, are numbered, too.
    if not name.startswith("re:") and _BESIDE.search(name):
        return set()
    layer = _LAYER.search(name)
    layer_number = int(layer[1]) if layer and not name.startswith("re:") else None
    of_layer = [(i, module) for i, module in enumerate(modules.items) if layer_number in (None, module.layer)]
    # A regular expression, or a name with *.
    if name.startswith("re:"):
        pattern = _compiled(name.removeprefix("re:"))
        return {i for i, module in of_layer if pattern is not None and any(map(pattern.match, _full_names(module)))}
    if "*" in name:
        wild = re.compile(translate(name))
        return {i for i, module in of_layer if any(map(wild.match, _full_names(module)))}
    # A name without patterns: its parts below the layer follow one another in the module's.
    below = name[layer.end() :].strip(".") if layer else _without_prefix(name)
    return {i for i, module in of_layer if any(f".{below}." in f".{leaf}." or not below for leaf in module.names)}


def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return a regular expression; None for what is none."""
    try:
        return re.compile(pattern)
    except re.error:
        return None


def _full_names(module: Module) -> Iterable[str]:
    """Return the names that a module may have in a file."""
    tail = ".any" if module.is_whole else ""
    return (f"{prefix}.{module.layer}.{leaf}{tail}" for prefix in _PREFIXES for leaf in module.names)


def _without_prefix(name: str) -> str:
    """Return a name without what stands before its layers; a name of all layers is kept, and means none."""
    return re.sub(r"^((model|language_model|backbone|transformer|decoder)\.)+", "", name) or name


def _is_head(name: str) -> bool:
    """Return whether a name means the head."""
    return _HEADS.search(name) is not None


def _is_apart(name: str, layers: int) -> bool:
    """Return whether a name means a module that is not counted: a small one, or one beside the decoder."""
    layer = _BEYOND.search(name)
    if _BESIDE.search(name) or (layer is not None and int(layer[1]) >= layers > 0):
        return True
    words = [word for word in re.split(r"[^A-Za-z0-9_]+", name.removeprefix("re:")) if word]
    return any(_SMALL.fullmatch(word) for word in words)
