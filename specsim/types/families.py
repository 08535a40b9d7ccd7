"""Protocols of coupled rules, processes, controllers and objectives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from specsim.types.records import Array, Signals
from specsim.types.rules import Scheme


class CoupledRule(Protocol):
    """A rule that takes draft and target tokens from the same variates.

    The target's half needs no q, and the drafter's no p. Both halves read e (..., races, V),
    independent exponential variates of mean 1. ``propose`` makes the drafts (..., K), drawn from q
    as DRAFTS says. ``verify`` returns the token, of law p; it receives the drafts, but its token
    must not depend on them. ``hits`` (..., V) is the probability that the token is y and was
    drafted, ``bound`` (...) a number below the sum of these. Variates belong to a position in the
    text, and are not used at another one.
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
    """Names that a coupled rule may also have."""

    # The numbers of drafts that it makes, if not all that DRAFTS can draw.
    COUNTS: tuple[int, ...]


class Process(Protocol):
    """A process says how the places of a text are filled, in passes that a chain rule verifies.

    ``start`` returns a state of `batch` texts with nothing filled. A process's own parameters come
    after these two, each with a default and an annotation. ``ask`` returns the rows that the next
    pass has to give (`specsim.base.texts.Asked`). ``advance`` makes tokens of them, with `uniforms`
    numbers for each text (b, n), by ``rule.prepare`` and ``rule.verify``.

    A state is a record with `text` (b, N), `filled` (b,), the places filled, N when a text is done,
    and `passes` (b,) of the target. A process has no other memory: the same state, rows and numbers
    give the same result.
    """

    EXACT: bool
    THEOREM: str
    PAPER: str

    def start(self, length: int, batch: int) -> Any: ...
    def ask(self, state: Any) -> Any: ...
    def uniforms(self, state: Any, rule: Any) -> int: ...
    def advance(self, state: Any, rows: Array, rule: Any, u: Array) -> Any: ...


class ProcessOptions(Protocol):
    """Names that a process may also have."""

    # Sets of parameters with which checks and `guarantee` run it, one after the other.
    CASES: tuple[dict[str, Any], ...]


class Controller(Protocol):
    """A controller decides when drafting stops: after each draft, whether there is to be one more.

    ``start`` returns a state for texts of the shape `batch`, (b,) or (). A controller's own
    parameters come after it, each with a default and an annotation. ``more`` (...) is called after
    each draft of a block, the first of which is always made. It decides about the *next* draft: a
    token that was drawn is verified, whatever its probability is. ``learn`` receives, for each
    block, how many drafts were accepted and how many there were, (...) integers each. No function
    has an argument for the target's rows, and a state holds what happened in its own texts only.
    """

    THEOREM: str
    PAPER: str

    def start(self, batch: tuple[int, ...] = ()) -> Any: ...
    def more(self, state: Any, signals: Signals) -> Array: ...
    def learn(self, state: Any, kept: Array, drafted: Array) -> Any: ...


class ControllerOptions(Protocol):
    """Names that a controller may also have.

    ``see`` is called after each draft, before ``more``: a state that depends on more than the last
    draft's signals records them here. ``block`` is a drafting loop of its own, to be checked:
    ``draw()`` makes one more draft and returns its signals, at most `most` times; ``block`` returns
    the state, and how many drafts it hands to the verifier.
    """

    # True if it knows what is to come: such a file is no controller, but bounds the speed of all.
    BOUND: bool
    # Sets of parameters with which checks run it, one after the other.
    CASES: tuple[dict[str, Any], ...]

    def see(self, state: Any, signals: Signals) -> Any: ...
    def block(self, state: Any, draw: Callable[[], Signals], most: int) -> tuple[Any, int]: ...


class Objective(Protocol):
    """An objective says what a draft learns: a number for each row.

    ``loss`` (...) takes rows p (..., V) of the target and rows log q (..., V) of the draft, and
    runs on any array. A SAMPLED one needs `tokens` (...), one for each row; only its gradient has a
    meaning. ``gradient`` (..., V) is the gradient that the sum of all rows must have in the logits
    of q; for a sampled objective, its expectation. Parameters come last, in both, with defaults and
    annotations.
    """

    SAMPLED: bool
    THEOREM: str
    PAPER: str

    def loss(self, p: Array, log_q: Array, tokens: Array | None = None) -> Array: ...
    def gradient(self, p: Array, log_q: Array) -> Array: ...


class ObjectiveOptions(Protocol):
    """Names that an objective may also have."""

    # Whose law the tokens come from, if not the draft's.
    TOKENS: Literal["draft", "target"]
