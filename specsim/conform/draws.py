"""Many answers of a subject with real random numbers: in batches where it can, else one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from specsim.conform import clock
from specsim.conform.cases import ROWS, Case
from specsim.conform.evidence import _shared, scripted
from specsim.conform.evidence._jax_keys import TRANSFORMED
from specsim.conform.libraries import plain, takes_key
from specsim.conform.rows import TILE, Rows, arguments, parts_of
from specsim.conform.subject import Subject
from specsim.conform.subject_call import Answer, Broken, Input, answer, inputs, keywords, randomness
from specsim.conform.timeout import OutOfTime
from specsim.conform.toys import Text, Toy
from specsim.trees import draw_tree, uniforms
from specsim.types import Array

if TYPE_CHECKING:
    from specsim.conform.watch import Watch

FEW = 8  # rows of a batch that are as many as they are: they are looked at one by one
PROBE = 20  # runs, after which it is known how long a first look would take


@contextmanager
def sampler(watch: Watch, case: Case, given: list[Input], seed: int) -> Iterator[Callable[[int], list[Answer]]]:
    """draw(n): n answers on drafts of the case."""
    rng, weights = np.random.default_rng(seed), np.array([one.weight for one in given])
    law = weights / weights.sum()
    rows = watch.rows if watch.rows.served(case, given) else None
    if rows is None and not is_batched(watch, case):
        with repeated(watch, lambda own: watch.once(case, given[rng.choice(len(law), p=law)], own), seed) as draw:
            yield draw
        return
    batched(watch, case, given, np.zeros(1, dtype=int), np.random.default_rng([seed, 2]), rows)
    with seeded(seed) as own:  # one that hangs was broken just now, and is not waited for until the end
        yield lambda count: batched(watch, case, given, rng.choice(len(law), size=count, p=law), own, rows)


def is_batched(watch: Watch, case: Case) -> bool:
    """Return whether the runs of a case are rows of the subject's batches; some things only single calls are asked."""
    is_plain = (case.prompt, case.limit, case.end, case.mask) == ((), None, None, None) and not watch.subject.logprobs
    return watch.subject.batch is not None and is_plain and not any(watch.dependent.values())


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


def rolled(case: Case) -> Case:
    """The same with every token called by the next one's number."""
    vocab = case.target.vocab

    def called(text: Text) -> Text:
        return tuple((token + 1) % vocab for token in text)

    def roll(model: Toy) -> Toy:
        return model._replace(table={called(text): np.roll(law, 1) for text, law in model.table.items()})

    return case._replace(target=roll(case.target), draft=roll(case.draft), prompt=called(case.prompt))


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


def drafted(subject: Subject, case: Case, count: int, rng: np.random.Generator) -> list[Input]:
    """Return inputs whose drafts are drawn, not enumerated; the models look at the last token alone."""
    if subject.kind not in ROWS:
        return inputs(subject, case) * count

    def after(toy: Toy) -> Callable[[tuple[Any, ...]], Array]:
        return lambda text: np.stack([toy.table[token,] for token in text[-1].tolist()]) if text else toy.table[()]

    u = rng.random((count, uniforms(case.parents, subject.scheme)))
    tree, q = draw_tree(after(case.draft), case.parents, u, scheme=subject.scheme)
    out = []
    for tokens, rows in zip(tree.tokens, q, strict=True):
        p = np.stack([case.target.table[()], *(case.target.table[token,] for token in tokens.tolist())])
        out.append(Input(tree._replace(tokens=tokens), p, rows if subject.takes_q else None, 1.0))
    return out


def once_each(watch: Watch, case: Case, given: list[Input], own: Any, *, rows: bool) -> list[Answer]:
    """Return the answers to inputs that are used once each: one by one, or as the rows of a batch."""
    if rows:
        return batched(watch, case, given, np.arange(len(given)), own)
    return [watch.once(case, one, own) for one in given]


@contextmanager
def seeded(seed: int) -> Iterator[np.random.Generator]:
    """A generator; those that everybody shares are seeded, too, and put back."""
    before = _shared.states()
    _shared.seed(seed)
    try:
        yield np.random.default_rng([seed, 1])
    finally:
        _shared.restore(before)


def batched(
    watch: Watch, case: Case, given: list[Input], chosen: Any, own: Any, rows: Rows | None = None
) -> list[Answer]:
    """One call for all of them, of the subject's `batch` or of `rows`; JAX gets as many rows each time."""
    if watch.subject.arrays != "jax" or (rows is None and len(chosen) <= FEW):
        return _called(watch, case, given, chosen, own, rows)
    answers: list[Answer] = []
    for first in range(0, len(chosen), TILE):
        part = chosen[first : first + TILE]
        answers += _called(watch, case, given, np.resize(part, TILE), own, rows)[: len(part)]
        watch.runs += len(part) - TILE
    return answers


@contextmanager
def followed(watch: Watch, random: Any) -> Iterator[None]:
    """Say what a script cannot follow where JAX refuses a key's stand-in: it is no fault of the subject."""
    try:
        yield
    except Broken as broken:
        ours = isinstance(random, scripted.Generator) and takes_key(watch.subject)
        if ours and isinstance(broken.__cause__, TypeError | AttributeError | ValueError):
            raise scripted.NotScriptable(TRANSFORMED) from None
        raise


def _called(watch: Watch, case: Case, given: list[Input], chosen: Any, own: Any, rows: Rows | None) -> list[Answer]:
    """The answers of one call."""
    subject = watch.subject
    drafts = [one.tree for one in given if one.tree is not None]
    watch.runs += len(chosen)
    if rows is not None:
        with watch.guarded(len(chosen)):
            found = rows.call(case, given, chosen, own)
    else:
        assert subject.batch is not None
        p, q, tokens = arguments(subject, given, chosen)
        tree = tokens if subject.kind != "tree" else drafts[0]._replace(tokens=tokens)
        more = randomness(subject, case, drafts[0], own, (len(chosen),))
        with followed(watch, own), watch.guarded(len(chosen)):
            found = subject.batch(p, q, tree, *more, **keywords(subject, case, None))
    said = None
    if subject.logprobs:
        found, reported = found
        said = None if rows is None else np.asarray(plain(reported), dtype=np.float64).round(6)
    pair = subject.kind in ("chain", "tree") and subject.returns == "kept"
    parts = parts_of(found, pair)
    if any(part.shape[:1] != (len(chosen),) for part in parts):
        raise Broken(f"returned {[part.shape for part in parts]} for a batch of {len(chosen)}")
    known: dict[Any, Answer] = {}  # rows that are alike mean the same

    def meant(n: int, i: int) -> Answer:
        row = tuple(part[n] for part in parts) if pair else parts[0][n]
        key = (i, *(n if part.dtype == object else part[n].tobytes() for part in parts))
        if key not in known:
            known[key] = answer(subject, case, drafts[i], row)
        one = known[key]
        return one if said is None else one._replace(logprobs=tuple(said[n][: len(one.text)].tolist()))

    return [meant(n, int(i)) for n, i in enumerate(chosen)]
