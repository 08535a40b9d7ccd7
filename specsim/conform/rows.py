"""Many rows of a JAX function in one call: `jax.jit(jax.vmap(run))`, each row with a key of its own.

JAX compiles a program anew for every shape, which takes longer than to run it: all calls have the same number of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from specsim.conform import libraries
from specsim.conform.cases import Case
from specsim.conform.subject import Subject
from specsim.conform.subject_call import Input, keywords
from specsim.types import Array, TokenTree

# Rows of a call; the first look at frequencies is after so many runs.
TILE = 1000
# To compile takes three times longer with all improvements, which a thousand rows do not need.
PLAINLY = {"xla_backend_optimization_level": "0"}
Found = Any  # what `run` returns, with a leading axis


class Programs:
    """The compiled programs of one subject, by what it is passed by name."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._programs: dict[Any, Callable[..., Found]] = {}

    def call(self, case: Case, given: list[Input], chosen: Any, own: Any) -> Found:
        """Return what `run` returns for each of the inputs that are chosen."""
        tree = given[0].tree
        assert tree is not None
        named = [keywords(self.subject, case, one.tree) for one in given]
        masks = [one.pop("mask", None) for one in named]
        constants = tuple(sorted(named[0].items()))
        p, q, tokens = arguments(self.subject, given, chosen)
        mask = None if masks[0] is None else libraries.booleans(self.subject, np.stack(masks)[chosen])
        parents = np.asarray(tree.parents).tobytes() if self.subject.kind == "tree" else b""
        key = constants, parents
        if key not in self._programs:
            self._programs[key] = compiled(self.subject, tree, dict(constants))
        return self._programs[key](p, q, tokens, libraries.keys(own, (len(chosen),)), mask)


def compiled(subject: Subject, tree: TokenTree, constants: dict[str, Any]) -> Callable[..., Found]:
    """Return the compiled function of p, q, tokens, keys and masks, each with a leading axis."""
    import jax

    def one(p: Any, q: Any, tokens: Any, key: Any, mask: Any) -> Found:
        drafts = tree._replace(tokens=tokens) if subject.kind == "tree" else tokens
        named = constants | ({"mask": mask} if subject.masks else {})
        return subject.run(p, q, drafts, key, **named)

    program: Callable[..., Found] = jax.jit(jax.vmap(one), compiler_options=PLAINLY)
    return program


def arguments(subject: Subject, given: list[Input], chosen: Any) -> tuple[Any, Any, Any]:
    """Return p, q and drafts of a batch, in the subject's library."""
    drafts = [one.tree.tokens for one in given if one.tree is not None]
    even = 1 / given[0].p.shape[-1]
    p = stacked([one.p for one in given], even)
    q = stacked([one.q for one in given if one.q is not None], even) if subject.takes_q else None
    # A step has one row of p and of q, a chain has no row of q after its last draft.
    rows: Any = {"step": 0, "chain": slice(None, -1)}.get(subject.kind, slice(None))
    if subject.kind == "step":
        p = p[:, 0]
    return (
        libraries.array(subject, p[chosen]),
        None if q is None else libraries.array(subject, q[chosen][:, rows]),
        libraries.integers(subject, stacked(drafts, -1)[chosen]),
    )


def stacked(rows: list[Array], filled: float) -> Array:
    """Return arrays one above the other; those with fewer rows are filled up, which only rows without drafts are.

    >>> stacked([np.array([3, 4]), np.array([5])], -1).tolist()
    [[3, 4], [5, -1]]
    """
    longest = max(map(len, rows))
    more = [np.full((longest - len(one), *one.shape[1:]), filled, dtype=one.dtype) for one in rows]
    return np.stack([np.concatenate(two) for two in zip(rows, more, strict=True)])


def parts_of(found: Found, paired: bool) -> tuple[Any, ...]:
    """Return the arrays of what rows returned; a list of tokens, or of nodes, is an axis of its own."""
    found = list(found) if paired and isinstance(found, tuple | list) else [found]
    return tuple(
        np.stack([np.asarray(libraries.plain(one)) for one in part], axis=1)
        if isinstance(part, tuple | list) and part
        else np.asarray(libraries.plain(part))
        for part in found
    )
