"""Many answers of a subject with real random numbers: in batches where it can, else one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from specsim.conform import clock
from specsim.conform.calls import Answer, Broken, Input, answer, array, inputs, integers, keywords, randomness
from specsim.conform.cases import Case, rolled
from specsim.conform.evidence import _shared
from specsim.conform.guard import OutOfTime

if TYPE_CHECKING:
    from specsim.conform.watch import Watch

PROBE = 20  # runs, after which it is known how long a first look would take


@contextmanager
def sampler(watch: Watch, case: Case, given: list[Input], seed: int) -> Iterator[Callable[[int], list[Answer]]]:
    """draw(n): n answers on drafts of the case."""
    rng, weights = np.random.default_rng(seed), np.array([one.weight for one in given])
    law, subject = weights / weights.sum(), watch.subject
    asked = (case.prompt, case.limit, case.end, case.mask) != ((), None, None, None) or subject.logprobs
    if subject.batch is None or asked:  # what only single calls are asked for
        with repeated(watch, lambda own: watch.once(case, given[rng.choice(len(law), p=law)], own), seed) as draw:
            yield draw
        return
    batched(watch, case, given, np.zeros(1, dtype=int), np.random.default_rng([seed, 2]))
    with seeded(seed) as own:  # one that hangs was broken just now, and is not waited for until the end
        yield lambda count: batched(watch, case, given, rng.choice(len(law), size=count, p=law), own)


@contextmanager
def neighboured(watch: Watch, case: Case, seed: int) -> Iterator[Callable[[int], list[Answer]]]:
    """draw(n): n answers of the rows of batches, so that a row in another's place is seen.

    A coin decides for every row whether its tokens are called by the next ones' numbers, which is undone in its answer:
    rows of two laws stand at random places beside each other, and every row is counted.
    """
    rng = np.random.default_rng(seed)
    own, other = (inputs(watch.subject, one) for one in (case, rolled(case)))
    laws = [np.array([one.weight for one in some]) for some in (own, other)]
    batched(watch, case, own, np.zeros(1, dtype=int), np.random.default_rng([seed, 2]))  # one that hangs is broken now
    with seeded(seed) as random:

        def draw(count: int) -> list[Answer]:
            drawn = [rng.choice(len(law), size=count, p=law / law.sum()) for law in laws]
            moved = rng.random(count) < 0.5
            chosen = np.where(moved, len(own) + drawn[1], drawn[0])
            found = batched(watch, case, [*own, *other], chosen, random)
            vocab = case.target.vocab
            return [unrolled(one, vocab) if there else one for one, there in zip(found, moved.tolist(), strict=True)]

        yield draw


def unrolled(answer: Answer, vocab: int) -> Answer:
    """An answer in a case that `rolled` made, in the numbers of the case that it was made of."""
    return answer._replace(text=tuple((token - 1) % vocab for token in answer.text))


@contextmanager
def repeated(watch: Watch, program: Callable[[Any], Answer], seed: int) -> Iterator[Callable[[int], list[Answer]]]:
    """draw(n): n results of program(random); OutOfTime at once where there is no time for a first look."""
    looks = 0
    with seeded(seed) as own:

        def draw(count: int) -> list[Answer]:
            nonlocal looks
            looks += 1
            out, began = list[Answer](), clock.now()
            if looks == 1 and began + watch.pace * count > watch.until:
                raise OutOfTime
            for _ in range(count):
                now = clock.now()
                if looks == 1 and len(out) == PROBE and began + (now - began) / PROBE * count > watch.until:
                    watch.pace = (now - began) / PROBE
                    raise OutOfTime
                if watch.left() < 0:
                    raise OutOfTime
                out.append(program(own))
            return out

        yield draw


@contextmanager
def seeded(seed: int) -> Iterator[np.random.Generator]:
    """A generator; those that everybody shares are seeded, too, and put back."""
    before = _shared.states()
    _shared.seed(seed)
    try:
        yield np.random.default_rng([seed, 1])
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
    assert subject.batch is not None
    watch.runs += len(chosen)
    with watch.guarded(len(chosen)):
        found = subject.batch(
            array(subject, rows_p[chosen]),
            None if rows_q is None else array(subject, rows_q[chosen]),
            tree,
            *more,
            **keywords(subject, case, None),
        )
    found = found[0] if subject.logprobs else found
    parts = found if isinstance(found, tuple) else (found,)
    plain = [np.asarray(part.detach().cpu() if hasattr(part, "detach") else part) for part in parts]
    if any(len(part) != len(chosen) for part in plain):
        raise Broken(f"returned {[len(part) for part in plain]} rows for a batch of {len(chosen)}")
    pair = subject.kind in ("chain", "tree") and subject.returns == "kept"
    known: dict[Any, Answer] = {}  # rows that are alike mean the same

    def meant(n: int, i: int) -> Answer:
        row = tuple(part[n] for part in plain) if pair else plain[0][n]
        key = (i, *(n if part.dtype == object else part[n].tobytes() for part in plain))
        if key not in known:
            known[key] = answer(subject, case, drafts[i], row)
        return known[key]

    return [meant(n, int(i)) for n, i in enumerate(chosen)]
