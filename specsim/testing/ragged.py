"""Ragged batches for a verifier that takes many blocks in one call: each block among neighbours of other lengths.

The neighbours' targets are certain of every token, and so is the outcome of each: some accept all their drafts, some a
few, some none, and some have none. They cost an exact judgement no path. Blocks without drafts are tried once before:
a verifier that raises where it gets some is judged without them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from specsim.base import check, clock
from specsim.conform import Subject, libraries
from specsim.conform.cases import logits, undrafted
from specsim.conform.draws import seeded
from specsim.conform.libraries import generator, plain, takes_key
from specsim.conform.subject_call import Broken, inputs
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import begin
from specsim.testing.layouts import ARGUMENTS, LENGTHS, Block, Layout, bonus_tokens, mask_argument, padded_rows
from specsim.types import Array

LAYOUTS = tuple(ARGUMENTS)
# Blocks without drafts in the call that tells whether a verifier takes them.
TRIED = 5
# Part of the budget for the two calls that tell it.
TRIAL = 1 / 4
# One in so many calls of one block has no neighbours.
ALONE = 4
# In a call of at most so many blocks a gap has 0 to 2 neighbours; among more, one gap in four has one.
FEW = 2
# Fields of a subject that the layout decides, and sources of randomness of a batch.
DECIDED = ("kind", "run", "returns", "batch", "block", "stateful", "coins", "scheme", "shapes")
SOURCES = ("global", "random")


def subject(verify: Callable[..., Any], layout: Layout, facts: dict[str, Any]) -> Subject:
    """Return the verifier as a chain rule, of which a single call is a ragged batch, too.

    Where 0 is among its sizes, blocks without drafts are judged, and stand between others.
    """
    # The layout decides some fields; others have defaults of their own here.
    if decided := [name for name in DECIDED if name in facts]:
        raise TypeError(f"{decided[0]}={check.shown(facts[decided[0]])} is decided by the layout, and cannot be told")
    source = facts.get("randomness", "random" if facts.get("arrays") == "jax" else "global")
    if source not in SOURCES:
        raise ValueError(f"randomness {source!r} is not one of a batch; known: {', '.join(SOURCES)}")
    fields = {"arrays": "torch", "dtype": "float32"} | facts | {"returns": "tokens", "randomness": "random"}
    rule = Subject(getattr(verify, "__name__", "verify"), "chain", print, **fields)

    def call(blocks: list[Block], random: Any, named: dict[str, Any]) -> Any:
        """Verify blocks in one call."""
        numbers = generator(random) if takes_key(rule) else random
        parts = ARGUMENTS[layout](rule, blocks, lambda: bonus_tokens(rule, blocks, numbers, named))
        source_arguments = () if source == "global" else (random,)
        keywords = dict(named)
        if named.get("mask") is not None:
            keywords["mask"] = mask_argument(rule, blocks, layout)
        return verify(*parts, *source_arguments, **keywords)

    def run(p: Any, q: Any, drafts: Any, random: Any, **named: Any) -> Any:
        """Verify one block, among neighbours."""
        block = Block(*(_numbers(part) for part in (p, q, drafts, named.get("mask"))))
        blocks, (place,) = arranged([block], rule)
        returned = call(blocks, random, named)
        if not rule.logprobs:
            return returned[place]
        # The harness says what is missing where a pair is not returned.
        if not isinstance(returned, tuple | list) or len(returned) != 2:
            return returned
        tokens, logprobs = returned
        row = [int(x) for x in tokens[place]]
        num_emitted = sum(x >= 0 for x in row)
        return row, logprobs[place][:num_emitted]

    def batch(p: Any, q: Any, drafts: Any, random: Any, **named: Any) -> Any:
        """Verify many blocks, among neighbours."""
        p_rows, q_rows, tokens = np.asarray(plain(p)), _numbers(q), np.asarray(plain(drafts))
        counts = (tokens >= 0).sum(axis=1).tolist()
        rows = []
        for i, count in enumerate(counts):
            block_q = None if q_rows is None else q_rows[i][:count]
            rows.append(Block(p_rows[i, : count + 1], block_q, tokens[i, :count], None))
        blocks, places = arranged(rows, rule)
        returned = call(blocks, random, named)
        emitted = padded_rows(returned[0] if rule.logprobs else returned)
        if len(emitted) != len(blocks):
            raise ValueError(f"returned {len(emitted)} rows for a batch of {len(blocks)} blocks")
        return (emitted[places], None) if rule.logprobs else emitted[places]

    return rule._replace(run=run, batch=batch)


def refusal(subject: Subject, budget: float) -> str:
    """Return what a verifier raises on blocks without drafts; an empty text if nothing, or if it is too slow."""
    if libraries.missing(subject):
        return ""
    settled = libraries.settled(subject)
    # One block without drafts alone, and several of them in a batch.
    trial = begin(settled, deadline=clock.now() + TRIAL * budget, patience=budget, delta=1.0, seed=0)
    (case,) = undrafted(settled)
    drafted = inputs(settled, case)
    try:
        with seeded(trial.caller.seed) as random:
            trial.caller.once(case, drafted[0], random)
            trial.caller.batched(case, drafted, np.zeros(TRIED, dtype=int), random)
    except Broken as broken:
        return "" if broken.__cause__ is None else str(broken)
    except OutOfTime:
        return ""
    return ""


def arranged(rows: list[Block], subject: Subject) -> tuple[list[Block], list[int]]:
    """Return the blocks of a batch with neighbours among them, and the places of those that are judged.

    What stands where is a hash of the drafts: the same whenever a path is run again, and another for other drafts. So a
    judged block is the first, the last, or the only one of some calls. Nothing stands between a block without drafts
    and one with drafts, and not all blocks are without.
    """
    noise = _bytes(rows)
    blocks, places = list[Block](), list[int]()
    drafted = any(len(row.drafts) for row in rows)
    alone = len(rows) == 1 and drafted and subject.arrays != "jax" and next(noise) % ALONE == 0
    if alone:
        return rows, [0]

    # Before all: a verifier that counts from block to block is then seen to count wrongly.
    if len(rows) == 1 and (not drafted or next(noise) % 4):
        blocks.append(neighbour(rows[0], subject, noise, rejected=True))

    # In the gaps.
    is_small = len(rows) <= FEW
    for before, row in zip([rows[0], *rows], rows, strict=False):
        is_alike = bool(len(before.drafts)) == bool(len(row.drafts))
        between = 0
        if is_alike:
            between = next(noise) % 3 if is_small else int(next(noise) % 4 == 0)
        for _ in range(between):
            blocks.append(neighbour(row, subject, noise))
        places.append(len(blocks))
        blocks.append(row)

    # After all.
    if next(noise) % 2 or not any(len(block.drafts) for block in blocks):
        blocks.append(neighbour(rows[-1], subject, noise, rejected=len(rows[-1].drafts) == 0))

    # JAX compiles anew for every number of blocks: calls are filled up to one number, before or after.
    if subject.arrays == "jax":
        most = 3 * len(rows) + 2 if is_small else len(rows) + max(len(rows) // 2, 8) + 1
        filler = [neighbour(rows[0], subject, noise) for _ in range(most - len(blocks))]
        if len(rows[0].drafts) and next(noise) % 2:
            return [*filler, *blocks], [len(filler) + place for place in places]
        blocks += filler
    return blocks, places


def _bytes(rows: list[Block]) -> Iterator[int]:
    """Yield numbers from 0 to 255 without end, hashed from the drafts: a generator may be a stand-in."""
    seed, count = b"".join(row.drafts.tobytes() for row in rows), 0
    while True:
        yield from hashlib.blake2b(seed, salt=count.to_bytes(16, "big")).digest()
        count += 1


def neighbour(like: Block, subject: Subject, noise: Iterator[int], rejected: bool = False) -> Block:
    """Return a block of which a certain number of drafts is accepted, with the vocabulary and mask of `like`.

    If `rejected`, it has drafts, and not all of them are accepted.
    """
    vocab, lengths = like.p.shape[-1], {*LENGTHS, *subject.sizes} - ({0} if rejected else set())
    count = sorted(lengths, reverse=True)[next(noise) % len(lengths)]
    num_accepted, first = next(noise) % (count + (not rejected)), next(noise)

    # The target is certain of first, first + 1, ...; drafts after the accepted ones are one too high.
    certain = (first + np.arange(count + 1)) % vocab
    drafts = np.where(np.arange(count) < num_accepted, certain[:-1], (certain[:-1] + 1) % vocab)
    p, q = np.eye(vocab)[certain], (1 + 2 * np.eye(vocab)[drafts]) / (vocab + 2)
    if subject.logits:
        p, q = logits(p), logits(q)
    mask = None if like.mask is None else np.ones(p.shape, dtype=bool)
    return Block(p, q if subject.takes_q else None, drafts, mask)


def _numbers(argument: Any) -> Array | None:
    """Return an argument of the harness as a NumPy array, None as it is."""
    return None if argument is None else np.asarray(plain(argument))
