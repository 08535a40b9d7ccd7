"""The exact law of a text that a process fills: every branch of every pass is followed, equal states together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from specsim import discover
from specsim.base.texts import Asked, host
from specsim.forking.rational import runs
from specsim.types import Array

Text = tuple[int, ...]
Texts = dict[Text, Fraction]


class Outcome(NamedTuple):
    """The law of the whole text, and of the number of passes that it takes."""

    law: Texts
    passes: dict[int, Fraction]


def outcome(process: ModuleType, rule: Any, models: Mapping[str, Joint], length: int) -> Outcome:
    """Follow a process along all of its branches; return the laws of its text and of its passes.

    States with the same content are followed once, with the sum of their weights: the process
    cannot tell them apart.
    """
    # Content -> (a state with it, its probability). Before the first call there is one state.
    states: dict[Any, tuple[Any, Fraction]] = {(): (process.start(length, 1), Fraction(1))}
    law: Texts = {}
    passes: dict[int, Fraction] = {}
    # A bound for processes that never end: for each place, a call for each draft, and one to verify.
    max_calls = (length + 2) ** 2
    for _ in range(max_calls):
        next_states: dict[Any, tuple[Any, Fraction]] = {}
        for state, weight in states.values():
            # A filled text ends its branch. The batch has one text.
            if int(state.filled[0]) >= length:
                text, num_passes = tuple(map(int, host(state.text)[0])), int(state.passes[0])
                law[text] = law.get(text, Fraction(0)) + weight
                passes[num_passes] = passes.get(num_passes, Fraction(0)) + weight
                continue
            # Other states go on, equal ones together.
            for next_state, chance in _branches(process, rule, models, state):
                key = _content(next_state)
                _, mass = next_states.get(key, (next_state, Fraction(0)))
                next_states[key] = (next_state, mass + weight * chance)
        if not next_states:
            return Outcome(law, passes)
        states = next_states
    raise ValueError(f"process {discover.name_of(process)!r} has not filled {length} places after {max_calls} calls")


def _branches(process: ModuleType, rule: Any, models: Mapping[str, Joint], state: Any) -> Any:
    """Return the states that one call of `advance` leads to, with their probabilities."""
    asked = process.ask(state)
    if asked.model not in models:
        raise ValueError(f"process {discover.name_of(process)!r} asks for rows of the {asked.model} model: give it")
    rows, count = models[asked.model].rows(asked), process.uniforms(state, rule)
    return runs(lambda fork: process.advance(state, rows, rule, fork.uniforms(1, count)))


def _content(value: Any) -> Any:
    """Return the content of a state, to be compared: arrays by shape and entries."""
    if isinstance(value, tuple):
        return tuple(map(_content, value))
    return (value.shape, tuple(value.ravel().tolist())) if isinstance(value, np.ndarray) else value


class Joint:
    """A model as the law of whole texts: it gives the law at any place, given tokens at any other places."""

    def __init__(self, model: Callable[[Text], Array], vocab: int, length: int) -> None:
        self.model, self.vocab, self.length = model, vocab, length
        self._rows: dict[tuple[int, tuple[tuple[int, int], ...]], Array] = {}
        self._texts: Texts = {}

    def rows(self, asked: Asked) -> Array:
        """Return the rows (b, n, V) that a pass asks for."""
        tokens, seen = host(asked.tokens), asked.seen
        rows = np.empty((*asked.places.shape, self.vocab), dtype=object)
        for i, j in np.ndindex(*asked.places.shape):
            # Text i, the j-th place that is asked for.
            known = tuple((int(k), int(tokens[i, k])) for k in np.flatnonzero(seen[i, j]))
            rows[i, j] = self._row(int(asked.places[i, j]), known)
        return rows

    def texts(self) -> Texts:
        """Return the model's law of whole texts."""
        if not self._texts:
            all_texts = itertools.product(range(self.vocab), repeat=self.length)
            self._texts = {text: weight for text in all_texts if (weight := self._weight(text))}
        return self._texts

    def conditional(self, known: Mapping[int, int]) -> Texts:
        """Return the model's law of whole texts, given the tokens at some places: place -> token."""

        def agrees(text: Text) -> bool:
            """Return whether a text has the known tokens."""
            return all(text[place] == token for place, token in known.items())

        agreeing = {text: weight for text, weight in self.texts().items() if agrees(text)}
        total = sum(agreeing.values(), Fraction(0))
        return {text: weight / total for text, weight in agreeing.items()}

    def _weight(self, text: Text) -> Fraction:
        """Return the probability of a text, by the chain rule."""
        return math.prod((self._row(i, tuple(enumerate(text[:i])))[y] for i, y in enumerate(text)), start=Fraction(1))

    def _row(self, place: int, seen: tuple[tuple[int, int], ...]) -> Array:
        """Return the law at a place, given the (place, token) pairs that are seen.

        It is the model's row if these are all places before it.
        """
        if (place, seen) not in self._rows:
            is_prefix = [k for k, _ in seen] == list(range(place))
            if is_prefix:
                row = self.model(tuple(token for _, token in seen))
            else:
                row = self._conditional_row(place, dict(seen))
            self._rows[place, seen] = row
        return self._rows[place, seen]

    def _conditional_row(self, place: int, seen: dict[int, int]) -> Array:
        """Return the law at a place, given the tokens at other places, by sums of the joint law.

        If those tokens have probability 0, the law is uniform.
        """
        weights = [Fraction(0)] * self.vocab
        for text, weight in self.texts().items():
            if all(text[k] == token for k, token in seen.items()):
                weights[text[place]] += weight
        total = sum(weights)
        return np.array([w / total if total else Fraction(1, self.vocab) for w in weights], dtype=object)


def distance(law: Texts, goal: Texts) -> Fraction:
    """Return the total variation distance of two laws of texts."""
    return sum((max(weight - law.get(text, Fraction(0)), Fraction(0)) for text, weight in goal.items()), Fraction(0))
