"""Jacobi, but rows see the slots of the pass before: keys that were not written again after a token changed."""

from typing import Any, NamedTuple

from specsim.process import jacobi
from specsim.process.jacobi import *

KILLED_BY = "law_is_the_targets"


class Stale(NamedTuple):
    text: Any
    filled: Any
    passes: Any
    own: Any
    keys: Any


def start(length, batch=1, *, window=16, first="left", width=1, carry="pass"):
    own = jacobi.start(length, batch, window=window, first=first, width=width, carry=carry)
    return Stale(own.text, own.filled, own.passes, own, own.text)


def ask(state):
    asked = jacobi.ask(state.own)
    tokens = asked.tokens.copy()
    tokens[0, state.filled[0] :] = state.keys[0, state.filled[0] :]
    return asked._replace(tokens=tokens)


def uniforms(state, rule):
    return jacobi.uniforms(state.own, rule)


def advance(state, rows, rule, u):
    own = jacobi.advance(state.own, rows, rule, u)
    return Stale(own.text, own.filled, own.passes, own, state.own.text)
