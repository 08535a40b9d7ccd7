"""Protocols of the other families: shared variates, how a text is filled, when drafting stops, what a draft learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from specsim.types.records import Array, Signals
from specsim.types.rules import Scheme


class CoupledRule(Protocol):
    """Draft and target from the same variates: the target's half needs no q, and the drafter's no p.

    Both halves read e (..., races, V), independent exponential variates of mean 1. ``propose`` makes the drafts
    (..., K), drawn from q as DRAFTS says; ``verify`` the token, of law p, which may be told the drafts but must not
    depend on them. ``hits`` (..., V) is the probability that the token is y and was drafted, ``bound`` (...) a number
    below the sum of these. Variates belong to a position in the text, and are not used at another one.
    """

    DRAFTS: Scheme
    EXACT: bool
    THEOREM: str
    PAPER: str

    def races(self, num_drafts: int) -> int: ...
    def propose(self, q: Array, e: Array, num_drafts: int) -> Array: ...
    def verify(self, p: Array, drafts: Array, e: Array) -> Array: ...
    def hits(self, p: Array, q: Array, num_drafts: int) -> Array: ...
    def bound(self, p: Array, q: Array, num_drafts: int) -> Array: ...


class CoupledOptions(Protocol):
    """What a coupled rule may also have."""

    COUNTS: tuple[int, ...]  # the numbers of drafts that it makes, if not all that DRAFTS can draw


class Process(Protocol):
    """How the places of a text are filled: passes of a model, whose rows a chain rule verifies.

    ``start`` gives a state of `batch` texts with nothing filled; a process' own parameters come after these two, each
    with a default and an annotation. ``ask`` says which rows the next pass has to give (`specsim.base.texts.Asked`);
    ``advance`` makes tokens of them, with `uniforms` numbers for each text (b, n), by ``rule.prepare`` and
    ``rule.verify``. A state is a record with `text` (b, N), `filled` (b,): places filled, N when a text is done, and
    `passes` (b,) of the target. What it does not hold is forgotten: the same state, rows and numbers give the same.
    """

    EXACT: bool
    THEOREM: str
    PAPER: str

    def start(self, length: int, batch: int) -> Any: ...
    def ask(self, state: Any) -> Any: ...
    def uniforms(self, state: Any, rule: Any) -> int: ...
    def advance(self, state: Any, rows: Array, rule: Any, u: Array) -> Any: ...


class ProcessOptions(Protocol):
    """What a process may also have."""

    CASES: tuple[dict[str, Any], ...]  # parameters with which checks and `guarantee` run it, one set after the other


class Controller(Protocol):
    """When drafting stops: after a draft it says whether there is to be one more.

    ``start`` gives a state for texts of the shape `batch`, (b,) or (); a controller's own parameters come after it,
    each with a default and an annotation. ``more`` (...) is asked after each draft of a block, the first of which is
    always made, and decides about the *next* draft: a token that was drawn is verified, whatever its probability is.
    ``learn`` is told of each block how many drafts were kept, of how many, (...) integers each. No function has an
    argument for the target's rows, and states hold what happened in their own texts only.
    """

    THEOREM: str
    PAPER: str

    def start(self, batch: tuple[int, ...] = ()) -> Any: ...
    def more(self, state: Any, signals: Signals) -> Array: ...
    def learn(self, state: Any, kept: Array, drafted: Array) -> Any: ...


class ControllerOptions(Protocol):
    """What a controller may also have.

    ``see`` is called after each draft, before ``more``: a state that goes by more than the last draft's signals takes
    them in here. ``block`` is a drafting loop of its own, to be checked: ``draw()`` makes one more draft and returns
    its signals, at most `most` times; it returns the state, and how many drafts it hands to the verifier.
    """

    BOUND: bool  # it is told what is to come: no controller, but what none is faster than
    CASES: tuple[dict[str, Any], ...]  # parameters with which checks run it, one set after the other

    def see(self, state: Any, signals: Signals) -> Any: ...
    def block(self, state: Any, draw: Callable[[], Signals], most: int) -> tuple[Any, int]: ...


class Objective(Protocol):
    """What a draft learns: rows p (..., V) of the target, rows log q (..., V) of the draft -> a number for each row.

    ``loss`` is written on any array; a SAMPLED one needs `tokens` (...), one for each row, and its value means little:
    only its gradient does. ``gradient`` (..., V) is what the gradient of the sum of all rows must be, in the logits of
    q; for a sampled one, what it is expected to be. Parameters come last, in both, with defaults and annotations.
    """

    SAMPLED: bool
    THEOREM: str
    PAPER: str

    def loss(self, p: Array, log_q: Array, tokens: Array | None = None) -> Array: ...
    def gradient(self, p: Array, log_q: Array) -> Array: ...


class ObjectiveOptions(Protocol):
    """What an objective may also have."""

    TOKENS: Literal["draft", "target"]  # whose law the tokens come from, if not the draft's
