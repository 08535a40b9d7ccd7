"""Correct rules with a hook for everything that an exhibit gets wrong, so that its file shows the error alone.

A frame makes the `subject` of a file: ``subject = chain(__name__, correction=...)``. What is not replaced is right.
Hooks take p and q with all rows, the position i and the draft x; laws that are drawn from need no normalisation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, children, draw, residual, rounds, warped
from specsim.conform.subject import UNCHANGED, Kind, Model, SamplingParams, Subject
from specsim.types import Array, TokenTree

# (p, q, i, x, random) -> whether the draft is accepted.
Accepts = Callable[[Array, Array, int, int, Any], Any]
# (p, q, i, x) -> the law after a rejection.
Correction = Callable[[Array, Array, int, int], Array]
# (p, q, sampling parameters) -> p and q as the test is to see them.
Laws = Callable[[Array, Array, SamplingParams], tuple[Array, Array]]
# The function `subject` of a file.
Made = Callable[[], Subject]


def ratio(p: Array, q: Array, i: int, x: int, random: Any) -> Any:
    """Keep a draft with probability min(1, p/q)."""
    return random.random() * q[i, x] < p[i, x]


def left_over(p: Array, q: Array, i: int, x: int) -> Array:
    """Return (p - q)+, from which a rejected draft is replaced."""
    return residual(p[i], q[i])


def last(p: Array) -> Array:
    """Return the last row of p, from which the bonus is drawn."""
    return np.asarray(p[-1])


def tokenwise(
    p: Array,
    q: Array,
    drafts: Array,
    random: Any,
    *,
    accepts: Accepts = ratio,
    correction: Correction = left_over,
    bonus: Callable[[Array], Array] = last,
) -> tuple[int, int]:
    """Test one draft after the other; correct the first that is refused. Return (accepted drafts, next token)."""
    for i, x in enumerate(drafts):
        if not accepts(p, q, i, x, random):
            return i, draw(random, correction(p, q, i, x))
    return len(drafts), draw(random, bonus(p))


def chain(
    name: str,
    run: Callable[..., Any] | None = None,
    *,
    accepts: Accepts = ratio,
    correction: Correction = left_over,
    bonus: Callable[[Array], Array] = last,
    laws: Laws | None = None,
    **facts: Any,
) -> Made:
    """Return the subject of a chain rule: `run`, or tokenwise rejection with hooks."""

    # Tokenwise rejection, of laws that the hook may change.
    def frame(
        p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams = UNCHANGED
    ) -> tuple[int, int]:
        """Verify a row of drafts."""
        if laws is not None:
            p, q = laws(p, q, sampling_params)
        return tokenwise(p, q, drafts, random, accepts=accepts, correction=correction, bonus=bonus)

    return _made(name, "chain", run or frame, {"sizes": SIZES} | facts)


def batches(name: str, rows: Callable[..., list[tuple[int, int]]]) -> Made:
    """Return the subject of a chain rule on batches; `rows` returns (accepted drafts, token) of every row.

    A single call is a batch of one.
    """

    def batch(p: Array, q: Array, drafts: Array, random: Any) -> tuple[Array, Array]:
        """Verify a batch."""
        outcomes = np.array(rows(p, q, drafts, random))
        return outcomes[:, 0], outcomes[:, 1]

    def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
        """Verify a row, as a batch of one."""
        return rows(p[None], q[None], drafts[None], random)[0]

    return _made(name, "chain", run, {"sizes": SIZES, "batch": batch})


def recursive(
    p: Array, q: Array, drafts: Sequence[int], random: Any, *, after: Callable[[Array, int], Array] | None = None
) -> int:
    """Return a token after testing several candidates for one place, each against what is left of p.

    after(q, x) is q once x was drawn.
    """
    for x in drafts:
        if random.random() * q[x] < p[x]:
            return int(x)
        p = residual(p, q)
        p = p / p.sum()
        if after is not None:
            q = after(q, x)
            if q.sum() == 0:
                break
    return draw(random, p)


def without(q: Array, x: int) -> Array:
    """Return q when x is taken out: the rest normalised, zeros if there is none."""
    rest = np.where(np.arange(len(q)) == x, 0, q)
    return rest / rest.sum() if rest.sum() else rest


def step(name: str, run: Callable[..., int], **facts: Any) -> Made:
    """Return the subject of a rule for several candidates in one place."""
    return _made(name, "step", run, facts)


def tree(name: str, choose: Callable[..., tuple[int | None, int]], **facts: Any) -> Made:
    """Return the subject of a tree rule, which walks down from the root.

    choose(p, q, tree, node, kids, random) returns a child and anything, or (None, token).
    """

    def run(p: Array, q: Array, drafted: TokenTree, random: Any) -> tuple[list[int], int]:
        """Verify a tree; return the accepted path and the next token."""
        path: list[int] = []
        while True:
            node = path[-1] if path else -1
            hit, token = choose(p, q, drafted, node, children(drafted, node), random)
            if hit is None:
                return path, token
            path.append(hit)

    return _made(name, "tree", run, facts)


def one_draft(
    target: Model,
    draft: Model,
    prompt: Any,
    n: int,
    sampling_params: SamplingParams,
    random: Any,
    *,
    law: Callable[[Model, tuple[int, ...], SamplingParams], Array] | None = None,
    proposal: Callable[[Array, Any, SamplingParams], int] | None = None,
) -> tuple[int, ...]:
    """Return a text in blocks of one draft.

    law(draft, text, sampling_params) is the q that is tested, proposal(q, ...) the draft.
    """

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        """Return the tokens of one block."""
        # The laws and the draft, as the hooks have them; then the test.
        p = warped(target(text), sampling_params)
        q = warped(draft(text), sampling_params) if law is None else law(draft, text, sampling_params)
        x = draw(random, q) if proposal is None else proposal(q, random, sampling_params)
        if random.random() * q[x] < p[x]:
            return x, draw(random, warped(target((*text, x)), sampling_params))
        return (draw(random, residual(p, q)),)

    return rounds(prompt, n, block)


def decoder(
    name: str,
    run: Callable[..., tuple[int, ...]] | None = None,
    *,
    sizes: Any = (1,),
    stops: bool = False,
    **hooks: Any,
) -> Made:
    """Return the subject of a decoder that takes sampling parameters: `run`, or blocks of one draft with hooks."""

    def frame(
        target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
    ) -> tuple[int, ...]:
        """Return a text."""
        return one_draft(target, draft, prompt, n, sampling_params, random, **hooks)

    return _made(name, "decoder", run or frame, {"sizes": sizes, "warps": True, "stops": stops})


def drafter(name: str, draw_one: Callable[..., tuple[int, Array]]) -> Made:
    """Return the subject of a drafter.

    draw_one(draft, text, sampling_params, random) returns the next token, and the row handed over with it.
    """

    def run(
        draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams, random: Any
    ) -> tuple[list[int], Array]:
        """Draw gamma drafts; return them with their rows."""
        text, rows = list(prompt), []
        for _ in range(gamma):
            x, row = draw_one(draft, text, sampling_params, random)
            text.append(x)
            rows.append(row)
        return text[len(prompt) :], np.stack(rows)

    return _made(name, "drafter", run, {"sizes": SIZES, "warps": True})


def _made(name: str, kind: Kind, run: Callable[..., Any], facts: dict[str, Any]) -> Made:
    """Return the function that makes the subject of a file, named as the file."""

    def subject() -> Subject:
        """Return the subject."""
        return Subject(name.rpartition(".")[2], kind, run, **facts)

    return subject
