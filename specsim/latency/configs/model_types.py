"""The model_type of a config: by its own field, else by the class that `architectures` names."""

from __future__ import annotations

import re
from typing import Any

from specsim.latency.configs.families import ALIASES, FAMILIES

# Endings of classes, and stems whose model_type is spelled otherwise.
_CLASS = re.compile(r"(ForCausalLM|LMHeadModel|ForConditionalGeneration|Model)$")
_STEMS = {"hunyuandensev1": "hunyuan_v1_dense", "stablelmepoch": "stablelm", "rw": "falcon"}
NOTHING = "has neither model_type nor architectures; its layers are read as Llama's, experts as its fields name them"


def model_type(values: dict[str, Any], decoder: dict[str, Any]) -> tuple[str, str]:
    """Return the model_type of a decoder that is nested in `values` or is these, and a note on how it was found.

    The model_type is "" where neither it nor a known class is named.

    Examples
    --------
    >>> model_type({}, {"architectures": ["Llama4ForCausalLM"]})[0]
    'llama4_text'
    """
    # By its field.
    named = decoder.get("model_type") or values.get("model_type")
    classes = [*_classes(decoder), *_classes(values)]
    class_kinds = [kind for kind in map(of_class, classes) if kind]
    if named:
        kind = ALIASES.get(str(named), str(named))
        family = FAMILIES.get(kind)
        contrary = next((class_kind for class_kind in class_kinds if FAMILIES.get(class_kind) != family), None)
        if contrary is None or kind not in FAMILIES:
            return kind, ""
        return kind, f"has model_type {named}, but architectures of {contrary}; it is read as {named}"
    # By its class.
    if class_kinds:
        first_kind = class_kinds[0]
        return first_kind, f"has no model_type; it is read as {first_kind}, by its architectures"
    return (str(classes[0]), "") if classes else ("", NOTHING)


def of_class(name: str) -> str:
    """Return the model_type of a class such as PhiForCausalLM; "" if it is not known."""
    stem = re.sub(r"[^a-z0-9]", "", _CLASS.sub("", name).lower())
    spelled = {re.sub(r"[^a-z0-9]", "", kind.lower()): kind for kind in (*ALIASES, *FAMILIES) if kind}
    kind = _STEMS.get(stem) or spelled.get(stem) or spelled.get(f"{stem}text") or ""
    return ALIASES.get(kind, kind)


def _classes(values: dict[str, Any]) -> list[str]:
    """Return the classes that a config names."""
    named = values.get("architectures")
    return [str(name) for name in named] if isinstance(named, list) else []
