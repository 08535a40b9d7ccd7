"""Many rows of a JAX function in one call: `jax.jit(jax.vmap(run))`, each row with a key of its own.

JAX compiles a program anew for every shape, which takes longer than to run it: all calls have the
same number of rows.
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
# Compiling with all optimisations takes three times longer, and a thousand rows do not need them.
UNOPTIMISED = {"xla_backend_optimization_level": "0"}
# The value that `run` returns, with a leading axis for the rows.
Returned = Any


class Programs:
    """The compiled programs of one subject, by the arguments that it is passed by name."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._programs: dict[Any, Callable[..., Returned]] = {}

    def call(self, case: Case, drafted: list[Input], chosen: Any, numbers: Any) -> Returned:
        """Return what `run` returns for each of the inputs that are chosen; each row has a key of its number."""
        tree = drafted[0].tree
        assert tree is not None
        # Masks differ between rows and are arrays; the other keywords are equal for all, and
        # compiled in.
        named = [keywords(self.subject, case, row.tree) for row in drafted]
        masks = [row.pop("mask", None) for row in named]
        constants = tuple(sorted(named[0].items()))
        p, q, tokens = arguments(self.subject, drafted, chosen)
        mask = None if masks[0] is None else libraries.booleans(self.subject, np.stack(masks)[chosen])

        # One program for each set of constants, and for each shape of trees.
        parents = np.asarray(tree.parents).tobytes() if self.subject.kind == "tree" else b""
        key = constants, parents
        if key not in self._programs:
            self._programs[key] = compiled(self.subject, tree, dict(constants))
        return self._programs[key](p, q, tokens, libraries.keys(numbers, (len(chosen),)), mask)


def compiled(subject: Subject, tree: TokenTree, constants: dict[str, Any]) -> Callable[..., Returned]:
    """Return the compiled function of p, q, tokens, keys and masks, each with a leading axis."""
    import jax

    def run_row(p: Any, q: Any, tokens: Any, key: Any, mask: Any) -> Returned:
        """Run the subject on one row."""
        drafts = tree._replace(tokens=tokens) if subject.kind == "tree" else tokens
        named = constants | ({"mask": mask} if subject.masks else {})
        return subject.run(p, q, drafts, key, **named)

    program: Callable[..., Returned] = jax.jit(jax.vmap(run_row), compiler_options=UNOPTIMISED)
    return program


def arguments(subject: Subject, drafted: list[Input], chosen: Any) -> tuple[Any, Any, Any]:
    """Return p, q and drafts of a batch, in the subject's library; `chosen` are indices into `drafted`."""
    drafts = [row.tree.tokens for row in drafted if row.tree is not None]
    even = 1 / drafted[0].p.shape[-1]
    p = stacked([row.p for row in drafted], even)
    q = stacked([row.q for row in drafted if row.q is not None], even) if subject.takes_q else None
    # A step has one row of p and of q, a chain has no row of q after its last draft.
    rows: Any = {"step": 0, "chain": slice(None, -1)}.get(subject.kind, slice(None))
    if subject.kind == "step":
        p = p[:, 0]
    return (
        libraries.array(subject, p[chosen]),
        None if q is None else libraries.array(subject, q[chosen][:, rows]),
        libraries.integers(subject, stacked(drafts, -1)[chosen]),
    )


def stacked(arrays: list[Array], filler: float) -> Array:
    """Return arrays one above the other; only inputs without drafts have fewer rows, which are filled up.

    >>> stacked([np.array([3, 4]), np.array([5])], -1).tolist()
    [[3, 4], [5, -1]]
    """
    longest = max(map(len, arrays))
    padded = []
    for array in arrays:
        padding = np.full((longest - len(array), *array.shape[1:]), filler, dtype=array.dtype)
        padded.append(np.concatenate([array, padding]))
    return np.stack(padded)


def parts_of(returned: Returned, paired: bool) -> tuple[Any, ...]:
    """Return the arrays that rows returned, two of a pair; a list of tokens, or of nodes, becomes the second axis."""
    parts = list(returned) if paired and isinstance(returned, tuple | list) else [returned]
    arrays = []
    for part in parts:
        if isinstance(part, tuple | list) and part:
            columns = [np.asarray(libraries.plain(column)) for column in part]
            # A list of numbers has one for each row.
            arrays.append(np.stack(columns, axis=1 if columns[0].ndim else 0))
        else:
            arrays.append(np.asarray(libraries.plain(part)))
    return tuple(arrays)
