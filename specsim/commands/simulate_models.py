"""Target and draft of a simulation, from short specifications."""

from __future__ import annotations

from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path

import numpy as np

from specsim.base.reading import MOST_BYTES, read_text
from specsim.commands.errors import sentence
from specsim.simulation.toys.models import Automaton, context_free, markov, mixture
from specsim.simulation.toys.texts import ngram, recorded
from specsim.types import Array

# How a model is specified.
KINDS = ("law:1/2,.3,.2", "markov:FILE.npy", "text:FILE:ORDER", "mixture:WEIGHTS.npy:LAWS.npy", "recorded:ROWS.npy")


def models(target: str, draft: str) -> tuple[Automaton, Automaton]:
    """Return target and draft from specifications, as KINDS lists them.

    Texts have one vocabulary, the characters of both.
    """
    # Read all texts first, for their vocabulary.
    parts = {name: _parts(name, spec) for name, spec in (("target", target), ("draft", draft))}
    texts = {name: _text(name, rest) for name, (kind, rest) in parts.items() if kind == "text"}
    vocab = "".join(sorted(set("".join(text for text, _ in texts.values()))))
    # Each model by its kind.
    automata: dict[str, Automaton] = {}
    for name, (kind, rest) in parts.items():
        if kind == "law":
            automata[name] = _law(name, rest)
        elif kind == "markov":
            automata[name] = markov(_table(name, rest))
        elif kind == "mixture":
            weights, _, components = rest.partition(":")
            automata[name] = mixture(_table(name, weights), _table(name, components))
        elif kind == "recorded":
            # `recorded` makes a target and a draft: of equal rows they are equal models.
            rows = _table(name, rest)
            automata[name], _ = recorded(rows, rows)
        else:
            text, order = texts[name]
            automata[name] = ngram(text, order=order, vocab=vocab)
    return automata["target"], automata["draft"]


def _parts(name: str, spec: str) -> tuple[str, str]:
    """Return (kind, rest) of a model's specification "kind:rest"; ValueError if it is in no form of KINDS.

    name: "target" or "draft", for the message.
    """
    kind, colon, rest = spec.partition(":")
    kinds = [form.split(":")[0] for form in KINDS]
    if kind in kinds and rest:
        return kind, rest
    # Suggest a near kind where the kind alone is wrong.
    near_kinds = get_close_matches(kind, kinds, 1) if colon and kind not in kinds else []
    hint = f"did you mean {near_kinds[0]}:? " if near_kinds else ""
    raise ValueError(f"{name} {spec!r} is no model; {hint}give {' or '.join(KINDS)}")


def _law(name: str, rest: str) -> Automaton:
    """Return the model with one law in every context."""
    try:
        # A float where there is no fraction: Fraction("1e999999999") would write all those digits out.
        return context_free([float(Fraction(word) if "/" in word else word) for word in rest.split(",")])
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"{name} law:{rest}: {error}") from None


def _table(name: str, path: str) -> Array:
    """Return the array in a file; ValueError if it cannot be read."""
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"{name}: {path} cannot be read as an array ({sentence(error)})") from None


def _text(name: str, rest: str) -> tuple[str, int]:
    """Return the text in a file, and the order of the model to fit."""
    path, _, order = rest.rpartition(":")
    if not path or not order.isdigit():
        raise ValueError(f"{name} text:{rest} must end in the order, as in text:FILE:2")
    try:
        return read_text(Path(path), MOST_BYTES), int(order)
    except (OSError, ValueError) as error:
        raise ValueError(f"{name}: {path} cannot be read as text ({sentence(error)})") from None
