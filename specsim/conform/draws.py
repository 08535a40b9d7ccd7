"""Many answers of a subject with real random numbers: in batches where it can, else one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from specsim.conform.calls import Answer, Broken, Input, answer, array, integers, randomness
from specsim.conform.cases import Case
from specsim.conform.evidence import _shared
from specsim.conform.guard import OutOfTime

if TYPE_CHECKING:
    from specsim.conform.watch import Watch


@contextmanager
def sampler(watch: Watch, case: Case, given: list[Input], seed: int) -> Iterator[Callable[[int], list[Answer]]]:
    """draw(n): n answers on drafts of the case; the generators that everybody shares are seeded, and put back."""
    rng, weights = np.random.default_rng(seed), np.array([one.weight for one in given])
    own = np.random.default_rng([seed, 1])
    before = _shared.states()
    if watch.subject.batch is not None:  # one that hangs is broken, and is not waited for until the end
        batched(watch, case, given, np.zeros(1, dtype=int), np.random.default_rng([seed, 2]))
    _shared.seed(seed)

    def draw(count: int) -> list[Answer]:
        chosen = rng.choice(len(given), size=count, p=weights / weights.sum())
        if watch.subject.batch is not None:
            return batched(watch, case, given, chosen, own)
        out = []
        for i in chosen:
            if watch.left() < 0:
                raise OutOfTime
            out.append(watch.once(case, given[i], own))
        return out

    try:
        yield draw
    finally:
        _shared.restore(before)


def batched(watch: Watch, case: Case, given: list[Input], chosen: Any, own: Any) -> list[Answer]:
    """One call for all of them."""
    subject = watch.subject
    p, drafts = np.stack([one.p for one in given]), [one.tree for one in given if one.tree is not None]
    q = np.stack([one.q for one in given if one.q is not None]) if subject.takes_q else None
    rows: Any = {"step": 0, "chain": slice(None, -1)}.get(subject.kind, slice(None))
    rows_p, rows_q = p[:, 0] if subject.kind == "step" else p, None if q is None else q[:, rows]
    tokens = integers(subject, np.stack([tree.tokens for tree in drafts])[chosen])
    tree = tokens if subject.kind != "tree" else drafts[0]._replace(tokens=tokens)
    more = randomness(subject, case, drafts[0], own, (len(chosen),))
    named = {"sampling_params": case.sampling_params} if subject.warps else {}
    assert subject.batch is not None
    watch.runs += len(chosen)
    with watch.guarded(len(chosen)):
        found = subject.batch(
            array(subject, rows_p[chosen]),
            None if rows_q is None else array(subject, rows_q[chosen]),
            tree,
            *more,
            **named,
        )
    parts = found if isinstance(found, tuple) else (found,)
    plain = [np.asarray(part.detach().cpu() if hasattr(part, "detach") else part) for part in parts]
    if any(len(part) != len(chosen) for part in plain):
        raise Broken(f"returned {[len(part) for part in plain]} rows for a batch of {len(chosen)}")
    pair = subject.kind in ("chain", "tree") and subject.returns == "kept"
    return [
        answer(subject, case, drafts[i], tuple(part[n] for part in plain) if pair else plain[0][n])
        for n, i in enumerate(chosen)
    ]
