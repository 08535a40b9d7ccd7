"""Which kind each layer is: attention over all tokens or a window, or a layer with a state; dense or with experts."""

from __future__ import annotations

from collections.abc import Callable

from specsim.latency.configs.fields import Fields

FULL, WINDOW, STATE = "full", "window", "state"
# Layers of a hybrid that are a feed-forward block alone.
MLP, EXPERTS = "mlp", "experts"

# Kinds by the words of layer_types.
_WORDS = {
    **dict.fromkeys(("full_attention", "attention", "global", "indexed_attention", "deepseek_sparse_attention"), FULL),
    **dict.fromkeys(("sliding_attention", "chunked_attention"), WINDOW),
    **dict.fromkeys(("linear_attention", "mamba", "mamba2", "conv"), STATE),
    **{"mlp": MLP, "moe": EXPERTS},
}
# Kinds by the letters of Nemotron-H's pattern.
_LETTERS = {"M": STATE, "*": FULL, "-": MLP, "E": EXPERTS}

# A reader: from the fields of a config and the number of layers, the kind of each layer.
Kinds = Callable[[Fields, int], list[str]]


def declared(fields: Fields, layers: int) -> list[str] | None:
    """Return the kind of each layer as layer_types or layers_block_type lists it; None without both.

    Raise ValueError if they disagree, or for a type whose cost is not known here.
    """
    layer_types, block_types = (_listed_kinds(fields, name, layers) for name in ("layer_types", "layers_block_type"))
    if layer_types is not None and block_types is not None and layer_types != block_types:
        raise ValueError(f"config {fields.name}: layer_types and layers_block_type disagree; leave out one of them")
    return block_types if layer_types is None else layer_types


def _listed_kinds(fields: Fields, name: str, layers: int) -> list[str] | None:
    """Return the kind of each layer from the field `name`, a list with the type of each; None without the field.

    {"layer_types": ["full_attention", "mamba"]} gives ["full", "state"].
    """
    types = fields.entries(name)
    if types is None:
        return None
    unknown = sorted({str(kind) for kind in types if str(kind) not in _WORDS})
    if unknown:
        raise fields.refusal(f"has layers of type {', '.join(unknown)}, which are not counted here")
    if len(types) != layers:
        raise ValueError(f"config {fields.name}: {name} has {len(types)} entries for {layers} layers")
    return [_WORDS[str(kind)] for kind in types]


def by_pattern(every: int = 0, *, named: bool = False) -> Kinds:
    """Return a reader of kinds: every n-th layer attends to all tokens, the layers between to a window.

    every: n; with 0 all layers from max_window_layers on have the window. named: whether the code of the model_type
    reads n from the field sliding_window_pattern, with `every` as its default.
    """

    def kinds(fields: Fields, layers: int) -> list[str]:
        """Return the kind of each layer."""
        # Is there a window at all?
        types = declared(fields, layers)
        switch = fields.get("use_sliding_window")
        is_off = switch is not None and not switch
        windowed = not is_off and fields.get("sliding_window", "sliding_window_size") is not None
        fields.read.update(("sliding_window", "sliding_window_size", "max_window_layers"))
        if named:
            fields.read.add("sliding_window_pattern")
        if not windowed:
            if types is not None and WINDOW in types:
                raise ValueError(f"config {fields.name}: layer_types has windows, but sliding_window is not given")
            if types is None and every and not is_off:
                raise fields.refusal(
                    "has sliding_window null, but the code of its model_type gives layers a window; give its size, or "
                    "layer_types without windows"
                )
            return types or [FULL] * layers
        if types is not None:
            return types
        # Where it is: by letters, by every n-th layer, or from one layer on.
        pattern = fields.get("sliding_window_pattern") if named else None
        if isinstance(pattern, str) and set(pattern) == {"L", "G"}:
            return [FULL if pattern[i % len(pattern)] == "G" else WINDOW for i in range(layers)]
        step = fields.number("sliding_window_pattern", default=every) if named else every
        _check_private(fields, step)
        if step:
            return [FULL if (i + 1) % step == 0 else WINDOW for i in range(layers)]
        first = fields.number("max_window_layers", default=0)
        return [WINDOW if i >= first else FULL for i in range(layers)]

    return kinds


def _check_private(fields: Fields, step: int) -> None:
    """Raise ValueError if _sliding_window_pattern in the file is another n than `step`, which the model's code uses.

    transformers writes this private attribute of a config into its file, but does not read it from there: which of both
    was meant is not known. layer_types, which newer files have, settles it.
    """
    private = fields.get("_sliding_window_pattern")
    if private and private != step:
        taken = f"takes {step}" if step else "has no pattern"
        raise fields.refusal(
            f"has _sliding_window_pattern ({private}), which the code of its model_type does not read ({taken}); give "
            "layer_types"
        )


def unwindowed(fields: Fields, layers: int) -> list[str]:
    """Return the kinds of Qwen-MoE: attention over all tokens. Windows are refused: no published model has them."""
    if fields.get("use_sliding_window"):
        raise fields.refusal("has windows (use_sliding_window is True), which are not counted of its model_type")
    fields.read.update(("sliding_window", "max_window_layers"))
    return everywhere(fields, layers)


def everywhere(fields: Fields, layers: int) -> list[str]:
    """Return full attention for every layer; layer_types must agree."""
    types = declared(fields, layers)
    # A file may repeat fields of windows that it switches off.
    switch = fields.values.get("use_sliding_window")
    if switch is False or (not switch and fields.values.get("sliding_window") is None):
        fields.read.update(("use_sliding_window", "sliding_window", "max_window_layers"))
    if types is not None and set(types) != {FULL}:
        raise fields.refusal("has layer_types other than full attention, which its model_type does not have")
    return [FULL] * layers


def chunked(fields: Fields, layers: int) -> list[str]:
    """Return the kinds of Llama 4: layers with rotary positions see the tokens of their chunk."""
    types = declared(fields, layers)
    rotary = fields.entries("no_rope_layers") or None
    every = fields.number("no_rope_layer_interval", default=4)
    if types is not None and WINDOW not in types:
        fields.read.add("attention_chunk_size")
        return types
    if fields.get("attention_chunk_size") is None:
        raise fields.refusal(
            "has attention_chunk_size null, but the code of its model_type gives layers a chunk; give its size, or "
            "layer_types without chunks"
        )
    if types is not None:
        return types
    # By the layers with rotary positions, or every n-th without.
    if rotary is not None and len(rotary) == layers:
        return [WINDOW if rotary[i] else FULL for i in range(layers)]
    return [FULL if (i + 1) % every == 0 else WINDOW for i in range(layers)]


def every_nth(fields: Fields, layers: int) -> list[str]:
    """Return the kinds of Qwen3-Next: one layer in full_attention_interval has attention, the others a state."""
    types = declared(fields, layers)
    if types is not None:
        fields.read.add("full_attention_interval")
        return types
    every = fields.number("full_attention_interval", default=4)
    return [FULL if (i + 1) % every == 0 else STATE for i in range(layers)]


def by_number(fields: Fields, layers: int) -> list[str]:
    """Return the kinds of MiniMax: attn_type_list has 1 where a layer has attention, 0 where it has a state."""
    types = declared(fields, layers)
    numbers = fields.entries("attn_type_list")
    if numbers is None:
        if types is None:
            raise fields.refusal("has neither attn_type_list nor layer_types, which say where its attention is")
        return types
    if len(numbers) != layers or any(isinstance(number, bool) or number not in (0, 1) for number in numbers):
        raise ValueError(f"config {fields.name}: attn_type_list must have a 0 or 1 for each of {layers} layers")
    return [FULL if number else STATE for number in numbers]


def all_ones(fields: Fields, layers: int) -> list[str]:
    """Return the kinds of MiniMax-M2: those in attn_type_list, if it is there, else attention everywhere."""
    return by_number(fields, layers) if fields.get("attn_type_list") is not None else everywhere(fields, layers)


def listed(fields: Fields, layers: int) -> list[str]:
    """Return the kinds of Kimi-Linear, whose linear_attn_config numbers its layers from 1."""
    types = declared(fields, layers)
    groups = fields.get("linear_attn_config")
    if not isinstance(groups, dict) or "full_attn_layers" not in groups:
        if types is None:
            raise fields.refusal("has neither linear_attn_config nor layer_types, which say where its attention is")
        return types
    lists = [groups["full_attn_layers"] or [], groups.get("kda_layers") or []]
    full, rest = map(set, lists)
    numbered = not any(isinstance(layer, bool) for group in lists for layer in group)
    if not numbered or full & rest or full | rest != set(range(1, layers + 1)):
        raise ValueError(f"config {fields.name}: linear_attn_config must name each of layers 1 to {layers} once")
    return [FULL if i + 1 in full else STATE for i in range(layers)]


def periodic(fields: Fields, layers: int) -> list[str]:
    """Return the kinds of Jamba: one layer in attn_layer_period has attention, the others a state."""
    types = declared(fields, layers)
    if types is not None:
        fields.read.update(("attn_layer_period", "attn_layer_offset"))
        return types
    period, offset = fields.number("attn_layer_period"), fields.number("attn_layer_offset", default=0)
    return [FULL if i % period == offset else STATE for i in range(layers)]


def at_indices(fields: Fields, layers: int) -> list[str]:
    """Return the kinds of Granite 4, Bamba and LFM2: a list of the layers that have attention, or layer_types."""
    types = declared(fields, layers)
    indices = fields.indices("attn_layer_indices", "full_attn_idxs", layers=layers)
    if types is not None:
        return types
    if indices is None:
        raise fields.refusal("has neither layer_types nor indices of the layers with attention")
    return [FULL if i in indices else STATE for i in range(layers)]


def lettered(fields: Fields, layers: int) -> list[str]:
    """Return the kinds of Nemotron-H by letter: M a state, * attention, - a feed-forward block, E experts."""
    types = declared(fields, layers)
    pattern = fields.get("hybrid_override_pattern")
    if types is not None:
        return types
    if not isinstance(pattern, str) or len(pattern) != layers or not set(pattern) <= set(_LETTERS):
        raise ValueError(
            f"config {fields.name}: hybrid_override_pattern must have one of M, *, -, E for each of {layers} layers"
        )
    return [_LETTERS[letter] for letter in pattern]
