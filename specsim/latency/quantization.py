"""What a config.json says of the types in which its weights are stored and its keys and values cached."""

from __future__ import annotations

from typing import Any, NamedTuple

from specsim.latency.configs.modules import EXPERTS, Modules
from specsim.latency.module_names import select
from specsim.latency.schemes import WORDS, compressed, grouped, mlx, modelopt, scheme
from specsim.latency.weights import Weights

# Where a config says how its weights are stored; mlx-lm says it twice, older versions in the last alone.
_PLACES = ("quantization_config", "compression_config", "quantization")
# Fields that list the modules left in 16 bits, and the field that lists the modules to be quantized, all others not.
_UNQUANTIZED_MODULES = (
    "ignore",
    "exclude_modules",
    "modules_to_not_convert",
    "ignored_layers",
    "llm_int8_skip_modules",
    "exclude",
)
_QUANTIZED_MODULES = "modules_in_block_to_quantize"
# Bits of weights that are left as they are.
WIDE = 16.0


class Choice(NamedTuple):
    """Modules by their names or patterns, and the type that they have: None is 16 bits."""

    names: tuple[str, ...]
    weights: Weights | None


class Rules(NamedTuple):
    """The type of all matrices, None for 16 bits, and exceptions: of choices that name a module the last one counts."""

    default: Weights | None
    choices: tuple[Choice, ...] = ()


def declared_weights(values: dict[str, Any], name: str, modules: Modules | None = None) -> Weights | None:
    """Return the type in which a model's weights are stored, by its config; None if that does not say.

    A quantization that is not understood has 0 bits, and its name says which it is. modules: those of the decoder, to
    find the ones that a quantization names.
    """
    quantization = _quantization(values, name)
    stored = None if quantization is None else _stored(quantization, modules or Modules())
    # Experts that have a type of their own by a field of the model.
    inner = values.get("text_config")
    expert = values.get("expert_dtype") or (inner.get("expert_dtype") if isinstance(inner, dict) else None)
    if expert is None:
        return stored
    bits = WORDS.get(str(expert).lower().removeprefix("torch."))
    if bits is None or (stored is not None and not stored.layers):
        return Weights(f"unknown (expert_dtype {expert})", 0.0, 0.0)
    beside = stored or Weights("16 bits", WIDE, WIDE)
    return Weights(f"{beside.name.partition(' (')[0]}, experts {expert}", beside.layers, beside.head, bits)


def _quantization(values: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return the field that describes a config's quantization; None without it."""
    inner = values.get("text_config")
    inner = inner if isinstance(inner, dict) else {}
    places = (*(values.get(place) for place in _PLACES), inner.get("quantization_config"))
    quantization = next((place for place in places if place), None)
    if quantization is not None and not isinstance(quantization, dict):
        raise ValueError(f"config {name}: quantization_config holds a {type(quantization).__name__}, not an object")
    return quantization


def _stored(quantization: dict[str, Any], modules: Modules) -> Weights:
    """Return the type that a quantization gives to layers, experts and head; 0 bits if it is not understood."""
    # The rules of the quantization; a type with bits of its own for experts holds as it is.
    method = str(quantization.get("quant_algo") or quantization.get("quant_method") or "no quant_method")
    rules = _rules(quantization)
    if rules is None:
        return Weights(f"unknown ({method})", 0.0, 0.0)
    if rules.default is not None and rules.default.experts:
        return rules.default

    # The type of each module, and of the head.
    types = [rules.default for _ in modules.items]
    head = WIDE if rules.default is None else rules.default.head
    for choice in rules.choices:
        selected = select(choice.names, modules)
        if selected.strange:
            return Weights(f"unknown ({method}: {selected.strange[0]})", 0.0, 0.0)
        for place in selected.places:
            types[place] = choice.weights
        if selected.head:
            head = WIDE if choice.weights is None else choice.weights.layers

    # A block with a state is one module here: names that leave it in 16 bits may mean some of its matrices alone.
    if rules.default is None and any(
        module.is_whole and weights is None for module, weights in zip(modules.items, types, strict=True)
    ):
        return Weights(f"unknown ({method}: layers with a state)", 0.0, 0.0)
    if len(set(types)) <= 1:
        weights = types[0] if types else rules.default
        return Weights("16 bits", WIDE, head) if weights is None else weights._replace(head=head)
    return _mixed(types, head, modules)


def _mixed(types: list[Weights | None], head: float, modules: Modules) -> Weights:
    """Return the mean bits of layers and of experts if modules have several types; the name has the bits of each part.

    types: of each module in `modules`. head: bits of the head.
    """
    parts: dict[str, list[tuple[int, float]]] = {}
    for weights, module in zip(types, modules.items, strict=True):
        bits = WIDE if weights is None else weights.layers
        parts.setdefault(module.part, []).append((module.weights, bits))
    experts = _mean(parts.get(EXPERTS, []))
    not_experts = _mean([pair for part, pairs in parts.items() if part != EXPERTS for pair in pairs])
    names = " and ".join(sorted({weights.name for weights in types if weights is not None}))
    if not_experts == WIDE and experts not in (0.0, WIDE):
        return Weights(f"{names} experts", WIDE, head, experts)
    shown = ", ".join(f"{part} {_mean(pairs):.4g}" for part, pairs in parts.items())
    return Weights(f"{names} ({shown} bits)", not_experts, head, experts)


def _mean(pairs: list[tuple[int, float]]) -> float:
    """Return the mean bits of modules (number of weights, bits), by their weights; 0 without any."""
    if len({bits for _, bits in pairs}) == 1:
        return pairs[0][1]
    return sum(count * bits for count, bits in pairs) / sum(count for count, _ in pairs) if pairs else 0.0


def _rules(quantization: dict[str, Any]) -> Rules | None:
    """Return the rules of a quantization, in the form that its fields show; None if one is not understood."""
    if not all(_is_names(quantization.get(field)) for field in (*_UNQUANTIZED_MODULES, _QUANTIZED_MODULES)):
        return None
    is_mixed = str(quantization.get("quant_algo")).upper() == "MIXED_PRECISION"
    if is_mixed and quantization.get("quantized_layers"):
        rules = _of_layers(quantization)
    elif "config_groups" in quantization and (is_mixed or not quantization.get("quant_algo")):
        rules = _of_groups(quantization)
    else:
        default = scheme(quantization)
        rules = None if default is None else _of_names(quantization, default)
    if rules is None:
        return None
    unquantized = tuple(str(module) for field in _UNQUANTIZED_MODULES for module in _list(quantization.get(field)))
    return rules._replace(choices=(*rules.choices, Choice(unquantized, None)))


def _of_groups(quantization: dict[str, Any]) -> Rules | None:
    """Return the rules in the groups of compressed-tensors; None if a group is not understood.

    There a name or a pattern counts before a class ("Linear"), and an earlier group before a later one.
    """
    sparse = quantization.get("sparsity_config")
    # A sparse format leaves zeros out of the file.
    if isinstance(sparse, dict) and sparse.get("format") not in (None, "dense"):
        return None
    groups = quantization["config_groups"]
    default, choices = None, []
    for group in groups.values() if isinstance(groups, dict) else ():
        held = group.get("weights") if isinstance(group, dict) else None
        if not isinstance(held, dict):
            continue
        weights = compressed(held)
        if weights is None:
            return None
        named = group.get("targets") or ["Linear"]
        if not _is_names(named):
            return None
        targets = [str(target) for target in _list(named)]
        if "Linear" in targets and default is None:
            default = weights
        choices.append(Choice(tuple(target for target in targets if target != "Linear"), weights))
    return Rules(default, tuple(reversed(choices))) if choices else None


def _of_layers(quantization: dict[str, Any]) -> Rules | None:
    """Return the rules of modelopt, which lists layers by name, each with an algorithm; others are in 16 bits."""
    layers = quantization.get("quantized_layers")
    choices: dict[Weights, list[str]] = {}
    for module, held in layers.items() if isinstance(layers, dict) else ():
        weights = modelopt(str(held.get("quant_algo")).lower()) if isinstance(held, dict) else None
        if weights is None:
            return None
        choices.setdefault(weights, []).append(str(module))
    return Rules(None, tuple(Choice(tuple(names), weights) for weights, names in choices.items())) if choices else None


def _of_names(quantization: dict[str, Any], default: Weights) -> Rules | None:
    """Return the rules of a quantization with one type, but for modules that it names; None if one is not understood.

    {"bits": 4, "dynamic": {"-:head": {}, "mlp": {"bits": 8}}} has 4 bits, 8 in each mlp, and 16 in the head.
    """
    # Overrides as (module, fields of its type). The last one that names a module counts; in tables of auto-round and
    # GPTQModel the first does, so they are added in reverse.
    overrides: list[tuple[str, Any]] = []
    # mlx-lm writes modules beside the fields of its quantization, auto-round into extra_config, GPTQModel into dynamic.
    is_mlx = not quantization.get("quant_method") and not quantization.get("quant_algo")
    if is_mlx:
        named = [(key, value) for key, value in quantization.items() if isinstance(value, dict) or value is False]
        overrides += [(key.replace("switch_mlp", "experts"), value) for key, value in named]
    for field in ("extra_config", "dynamic"):
        table = quantization.get(field)
        overrides += reversed(table.items()) if isinstance(table, dict) else []

    # Where quantized modules are listed, as names or as one list for each block, all others are in 16 bits.
    choices = []
    blocks = _list(quantization.get(_QUANTIZED_MODULES))
    quantized = [str(module) for block in blocks for module in _list(block, alone=True)]
    if quantized:
        choices = [Choice(tuple(quantized), default)]

    # The type of each override; a key with "-:" leaves the module in 16 bits.
    for key, value in overrides:
        weights = _override(value, default, is_mlx, quantization)
        if weights is not None and not weights.layers:
            return None
        choices.append(Choice((_pattern(str(key)),), None if str(key).startswith("-:") else weights))
    return Rules(None if quantized else default, tuple(choices))


def _override(value: Any, default: Weights, is_mlx: bool, quantization: dict[str, Any]) -> Weights | None:
    """Return the type that an override gives to its module: None is 16 bits, and 0 bits are not understood.

    value: False for 16 bits, or an object; fields that it lacks are those of the quantization.
    """
    unknown = Weights("unknown", 0.0, 0.0)
    if value is False:
        return None
    if not isinstance(value, dict):
        return unknown
    if is_mlx:
        return mlx(value) or unknown
    bits = value.get("bits", quantization.get("bits", 4))
    if isinstance(bits, int) and bits >= WIDE:
        return None
    if "bits" not in value and "group_size" not in value:
        return default
    group_size = value.get("group_size", quantization.get("group_size", 128))
    return grouped(bits, group_size) or unknown


def _pattern(key: str) -> str:
    """Return the name of a module, or "re:" with a regular expression, from the key of an override.

    GPTQModel marks expressions by "-:" or "+:"; other keys are expressions if they have a special character.
    """
    plain = key.removeprefix("-:").removeprefix("+:")
    is_marked = plain != key
    is_expression = is_marked or bool(set(plain) & set("\\*+(|^$["))
    return f"re:{plain}" if is_expression else plain


def _is_names(value: Any) -> bool:
    """Return whether a field holds names, or nothing."""
    return value is None or isinstance(value, str | list | tuple)


def _list(value: Any, alone: bool = False) -> list[Any]:
    """Return a list as it is and a name as a list of one; for anything else [], or a list of it if `alone`."""
    if isinstance(value, list | tuple):
        return list(value)
    return [value] if alone or isinstance(value, str) else []


def declared_cache(values: dict[str, Any], name: str) -> str:
    """Return the type in which keys and values are cached by a config, as --kv-dtype has it; "" if it does not say.

    A type that is not understood is returned as the config writes it.
    """
    # The first field that says something: of the quantization, else of the config.
    quantization = _quantization(values, name) or {}
    for place, field in (
        (quantization, "kv_cache_quant_algo"),
        (quantization, "kv_cache_scheme"),
        (quantization, "kv_cache_quant_config"),
        (quantization, "kv_cache_dtype"),
        (values, "kv_cache_dtype"),
    ):
        value = place.get(field)
        if value in (None, False, "", {}) or str(value).lower() in ("none", "auto"):
            continue
        if isinstance(value, dict):
            return _CACHED.get(f"{value.get('type')} {value.get('num_bits')}") or str(value)
        # Names as fp8_e4m3 begin with the type.
        plain = str(value).lower().removeprefix("torch.")
        narrow = (word for word in ("nvfp4", "fp8", "int8") if plain.startswith(word))
        return next(narrow, _SIXTEEN.get(plain, plain))
    return ""


# Types of a cache, by the fields type and num_bits of a scheme; names of 16 bits.
_CACHED = {"float 8": "fp8", "int 8": "int8", "float 4": "nvfp4"}
_SIXTEEN = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16"}
