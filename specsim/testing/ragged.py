"""Ragged batches for a verifier that takes many blocks in one call: each block among neighbours of other lengths.

The neighbours' targets are certain of every token, and so is what must become of them: some keep all their drafts,
some keep a few, some none, and some have none. They cost an exact judgement no path. Blocks without drafts are tried
once before: a verifier that raises where it gets some is judged without them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from specsim.base import check, clock
from specsim.conform import SamplingParams, Subject, libraries
from specsim.conform.cases import logits, undrafted, warped
from specsim.conform.draws import seeded
from specsim.conform.libraries import array, booleans, generator, integers, plain, takes_key
from specsim.conform.subject import UNCHANGED
from specsim.conform.subject_call import Broken, inputs
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import begin
from specsim.types import Array

Layout = Literal["vllm", "flat", "padded"]
LENGTHS = (1, 2)  # drafts of a neighbour, beside the numbers of drafts that the subject takes, 0 among them
TRIED = 5  # blocks without drafts in the call that tells whether a verifier takes them
# Part of the budget for the two calls that tell it.
TRIAL = 1 / 4
ALONE = 4  # of so many calls of one block, one has no neighbours
FEW = 2  # blocks of a call of which every gap may have neighbours; among more of them, every fourth
DECIDED = ("kind", "run", "returns", "batch", "block", "stateful", "coins", "scheme", "shapes")
SOURCES = ("global", "random")


class Block(NamedTuple):
    """One block of a batch as NumPy arrays; p, q and the mask as the verifier is to see them."""

    p: Array  # (G+1, V)
    q: Array | None  # (G, V)
    drafts: Array  # (G,)
    mask: Array | None  # (G+1, V)


def subject(verify: Callable[..., Any], layout: Layout, facts: dict[str, Any]) -> Subject:
    """The verifier as a chain rule, of which a single call is a ragged batch, too.

    Where 0 is among its sizes, blocks without drafts are judged, and stand between others.
    """
    if decided := [name for name in DECIDED if name in facts]:
        raise TypeError(f"{decided[0]}={check.shown(facts[decided[0]])} is decided by the layout, and cannot be told")
    source = facts.get("randomness", "random" if facts.get("arrays") == "jax" else "global")
    if source not in SOURCES:
        raise ValueError(f"randomness {source!r} is not one of a batch; known: {', '.join(SOURCES)}")
    told = {"arrays": "torch", "dtype": "float32"} | facts | {"returns": "tokens", "randomness": "random"}
    own = Subject(getattr(verify, "__name__", "verify"), "chain", print, **told)

    def call(blocks: list[Block], random: Any, named: dict[str, Any]) -> Any:
        numbers = generator(random) if takes_key(own) else random
        parts = _LAYOUTS[layout](own, blocks, lambda: _bonus(own, blocks, numbers, named))
        more = () if source == "global" else (random,)
        names = dict(named)
        if named.get("mask") is not None:
            names["mask"] = _mask(own, blocks, layout)
        return verify(*parts, *more, **names)

    def run(p: Any, q: Any, drafts: Any, random: Any, **named: Any) -> Any:
        one = Block(*(_numbers(part) for part in (p, q, drafts, named.get("mask"))))
        blocks, (place,) = arranged([one], own)
        found = call(blocks, random, named)
        if not own.logprobs:
            return found[place]
        if not isinstance(found, tuple | list) or len(found) != 2:
            return found  # the harness says what is missing
        row = [int(x) for x in found[0][place]]
        emitted = sum(x >= 0 for x in row)
        return row, found[1][place][:emitted]

    def batch(p: Any, q: Any, drafts: Any, random: Any, **named: Any) -> Any:
        given: list[Any] = [_numbers(part) for part in (p, q, drafts)]
        counts = (given[2] >= 0).sum(axis=1).tolist()
        laws = [None] * len(p) if q is None else [row[:n] for row, n in zip(given[1], counts, strict=True)]
        rows = [Block(given[0][i, : n + 1], laws[i], given[2][i, :n], None) for i, n in enumerate(counts)]
        blocks, places = arranged(rows, own)
        found = call(blocks, random, named)
        tokens = _padded_rows(found[0] if own.logprobs else found)
        if len(tokens) != len(blocks):
            raise ValueError(f"returned {len(tokens)} rows for a batch of {len(blocks)} blocks")
        return (tokens[places], None) if own.logprobs else tokens[places]

    return own._replace(run=run, batch=batch)


def refusal(subject: Subject, budget: float) -> str:
    """Return what a verifier raises on blocks without drafts; an empty text if nothing, or if it is too slow."""
    if libraries.missing(subject):
        return ""
    one = libraries.settled(subject)
    trial = begin(one, deadline=clock.now() + TRIAL * budget, patience=budget, delta=1.0, seed=0)
    (case,) = undrafted(one)
    given = inputs(one, case)
    try:
        with seeded(trial.caller.seed) as random:
            trial.caller.once(case, given[0], random)
            trial.caller.batched(case, given, np.zeros(TRIED, dtype=int), random)
    except Broken as broken:
        return "" if broken.__cause__ is None else str(broken)
    except OutOfTime:
        return ""
    return ""


def arranged(own: list[Block], subject: Subject) -> tuple[list[Block], list[int]]:
    """The blocks of a batch, neighbours among them, and the places of those that are one's own.

    What stands where is a hash of the drafts: the same whenever a path is run again, and another for other drafts. So
    one's own block is the first, the last, or the only one of some calls. Nothing stands between a block without drafts
    and one with drafts, and not all blocks are without.
    """
    noise = _bytes(own)
    blocks, places = list[Block](), list[int]()
    drafted = any(len(one.drafts) for one in own)
    alone = len(own) == 1 and drafted and subject.arrays != "jax" and next(noise) % ALONE == 0
    if alone:
        return own, [0]
    if len(own) == 1 and (not drafted or next(noise) % 4):  # what is counted on from block to block is seen to go wrong
        blocks.append(neighbour(own[0], subject, noise, rejected=True))
    for before, one in zip([own[0], *own], own, strict=False):
        few = len(own) <= FEW
        is_alike = bool(len(before.drafts)) == bool(len(one.drafts))
        between = 0
        if is_alike:
            between = next(noise) % 3 if few else int(next(noise) % 4 == 0)
        for _ in range(between):
            blocks.append(neighbour(one, subject, noise))
        places.append(len(blocks))
        blocks.append(one)
    if next(noise) % 2 or not any(len(block.drafts) for block in blocks):
        blocks.append(neighbour(own[-1], subject, noise, rejected=len(own[-1].drafts) == 0))
    if subject.arrays == "jax":  # which compiles anew for every number of blocks
        most = 3 * len(own) + 2 if len(own) <= FEW else len(own) + max(len(own) // 2, 8) + 1
        more = [neighbour(own[0], subject, noise) for _ in range(most - len(blocks))]
        if len(own[0].drafts) and next(noise) % 2:
            return [*more, *blocks], [len(more) + place for place in places]
        blocks += more
    return blocks, places


def _bytes(own: list[Block]) -> Iterator[int]:
    """Numbers from 0 to 255 without end; none of a generator's, whose numbers may be stand-ins."""
    seed, count = b"".join(one.drafts.tobytes() for one in own), 0
    while True:
        yield from hashlib.blake2b(seed, salt=count.to_bytes(16, "big")).digest()
        count += 1


def neighbour(like: Block, subject: Subject, noise: Iterator[int], rejected: bool = False) -> Block:
    """A block that is certain to keep so many of its drafts, and no more; if `rejected`, it has some, not all kept."""
    vocab, lengths = like.p.shape[-1], {*LENGTHS, *subject.sizes} - ({0} if rejected else set())
    count = sorted(lengths, reverse=True)[next(noise) % len(lengths)]
    kept, first = next(noise) % (count + (not rejected)), next(noise)
    certain = (first + np.arange(count + 1)) % vocab
    drafts = np.where(np.arange(count) < kept, certain[:-1], (certain[:-1] + 1) % vocab)
    p, q = np.eye(vocab)[certain], (1 + 2 * np.eye(vocab)[drafts]) / (vocab + 2)
    if subject.logits:
        p, q = logits(p), logits(q)
    mask = None if like.mask is None else np.ones(p.shape, dtype=bool)
    return Block(p, q if subject.takes_q else None, drafts, mask)


def _bonus(subject: Subject, blocks: list[Block], random: Any, named: dict[str, Any]) -> Array:
    """A token of the target after each block, under the sampling parameters and the mask: the engine has drawn it."""
    params: SamplingParams = named.get("sampling_params", UNCHANGED)
    drawn = []
    for block in blocks:
        law = np.exp(block.p[-1]) if subject.logits else block.p[-1]
        law = law if block.mask is None else law * block.mask[-1]
        law = warped(law / law.sum(), params, subject.order)
        certain = int(law.argmax()) if law.max() == law.sum() else None
        drawn.append(int(random.choice(len(law), p=law / law.sum())) if certain is None else certain)
    return np.array(drawn, dtype=np.int64)


def _numbers(given: Any) -> Array | None:
    """Return the harness's arguments as NumPy arrays."""
    if given is None:
        return None
    return np.asarray(plain(given))


def _rows(subject: Subject, rows: Sequence[Array]) -> Any:
    """Laws or logits one below the other, in the subject's library."""
    return array(subject._replace(logits=False), np.concatenate(rows))


def _laws(subject: Subject, blocks: list[Block]) -> tuple[Any, Any]:
    p = _rows(subject, [block.p[:-1] for block in blocks])
    q = _rows(subject, [block.q for block in blocks if block.q is not None]) if subject.takes_q else None
    return p, q


def _ends(subject: Subject, blocks: list[Block]) -> Any:
    return integers(subject, np.cumsum([len(block.drafts) for block in blocks]))


def _flat(subject: Subject, blocks: list[Block], bonus: Callable[[], Array]) -> tuple[Any, ...]:
    p, q = _laws(subject, blocks)
    drafts = integers(subject, np.concatenate([block.drafts for block in blocks]))
    return p, q, drafts, _ends(subject, blocks), integers(subject, bonus())


def _vllm(subject: Subject, blocks: list[Block], bonus: Callable[[], Array]) -> tuple[Any, ...]:
    p, q, drafts, ends, drawn = _flat(subject, blocks, bonus)
    counts = [len(block.drafts) for block in blocks]
    return drafts, counts, max(counts), ends, q, p, drawn[:, None]


def _padded(subject: Subject, blocks: list[Block], bonus: Callable[[], Array]) -> tuple[Any, ...]:
    """Past a block's count stands a law that is nobody's: certain of the last token."""
    counts, vocab = [len(block.drafts) for block in blocks], blocks[0].p.shape[-1]
    longest, certain = _longest(subject, counts), np.eye(vocab)[-1]
    spread = np.full(vocab, 1 / vocab)
    if subject.logits:
        certain, spread = logits(certain), logits(spread)
    p, q = (np.broadcast_to(row, (len(blocks), longest + 1, vocab)).copy() for row in (certain, spread))
    drafts = np.full((len(blocks), longest), -1, dtype=np.int64)
    for n, block in enumerate(blocks):
        p[n, : len(block.p)], drafts[n, : counts[n]] = block.p, block.drafts
        if block.q is not None:
            q[n, : counts[n]] = block.q
    given_q = array(subject._replace(logits=False), q[:, :-1]) if subject.takes_q else None
    given_p = array(subject._replace(logits=False), p)
    return given_p, given_q, integers(subject, drafts), integers(subject, np.array(counts))


def _mask(subject: Subject, blocks: list[Block], layout: Layout) -> Any:
    """Return the mask of allowed tokens, with the shape of p."""
    masks = [block.mask for block in blocks if block.mask is not None]
    if layout == "padded":
        longest = _longest(subject, [len(one) - 1 for one in masks]) + 1
        masks = [np.concatenate([one, np.ones((longest - len(one), one.shape[-1]), dtype=bool)]) for one in masks]
        return booleans(subject, np.stack(masks))
    return booleans(subject, np.concatenate([one[:-1] for one in masks]))


def _longest(subject: Subject, counts: list[int]) -> int:
    """The drafts of the longest block; for JAX, which compiles every shape anew, of the longest that there can be."""
    return max((*counts, *LENGTHS, *subject.sizes) if subject.arrays == "jax" else counts)


def _padded_rows(found: Any) -> Array:
    """Token ids (N, T), whatever holds them."""
    found = plain(found)
    if isinstance(found, list | tuple):
        longest = max((len(row) for row in found), default=0)
        found = [[*(int(x) for x in row), *[-1] * (longest - len(row))] for row in found]
    return np.asarray(found)


_LAYOUTS: dict[str, Callable[..., tuple[Any, ...]]] = {"vllm": _vllm, "flat": _flat, "padded": _padded}
LAYOUTS = tuple(_LAYOUTS)
