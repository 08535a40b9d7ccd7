"""Shards of a simulation: sequences that run in lockstep from their first block, a part of them in each thread."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.simulation.chain_block import State
from specsim.simulation.decode_loop import Loop
from specsim.simulation.rounds import Rounds
from specsim.simulation.toys.pair import Pair
from specsim.simulation.trace import Trace, stacked
from specsim.types import Array

# Sequences in a shard: a quarter of all, but at least and at most this many.
SHARD, MOST = 256, 4096
# Uniforms that are made at a time: 2 MiB.
CHUNK = 2**18
# Cores that this process may use.
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Job(NamedTuple):
    """A decode loop on a pair, and how long every sequence runs it.

    ``settings``: of the trace, as JSON text; ``threads``: the number of threads that share a shard.
    """

    pair: Pair
    loop: Loop
    blocks: int | None
    tokens: int | None
    burn_in: int
    seed: int
    keep_tokens: bool
    settings: str
    threads: int


class Part(NamedTuple):
    """Sequences in lockstep in one thread, and their counts so far.

    ``state``: of the texts, None before the first block; ``length`` (n,): tokens emitted; ``kept`` (n, depth+1) and
    ``starts`` (S,): as in `Trace`; ``texts``: the tokens of each call, if they are returned.
    """

    sequences: range
    state: State | None
    length: Array
    kept: Array
    starts: Array
    texts: list[Array]


def consecutive(numbers: list[int], most: int) -> Iterator[range]:
    """Yield runs of consecutive numbers, each with at most `most` of them."""
    at = 0
    while at < len(numbers):
        size = 1
        while size < most and at + size < len(numbers) and numbers[at + size] == numbers[at] + size:
            size += 1
        yield range(numbers[at], numbers[at] + size)
        at += size


def checked_seed(seed: int) -> int:
    """The seed, checked: a key of Philox, in 0..2^64-1."""
    return check.integer(seed, "seed", 0, (1 << 64) - 1)


def uniforms(seed: int, sequences: range, blocks: range, count: int) -> Array:
    """The uniforms (len(blocks), len(sequences), count) of blocks, keyed as `simulate` says.

    Philox makes four numbers at a time. Its counter's third word is 1, which keeps clear of `keyed_uniforms`.
    """
    words = -(-count // 4)
    numbers = np.empty((len(blocks), len(sequences), 4 * words))
    counter = np.array([sequences.start * words, 0, 1, 0], np.uint64)
    for of_block, block in zip(numbers, blocks, strict=True):
        bits = np.random.Philox(key=np.array([seed, block], np.uint64), counter=counter)
        np.random.Generator(bits).random(out=of_block)
    return numbers[..., :count]


def shard(
    job: Job, sequences: range, rounds: Rounds, report: Callable[[float], None], pool: ThreadPoolExecutor
) -> Trace:
    """Run sequences from their first block on, a part of them in each thread; `report` gets the share that is done."""
    # Share the sequences out over the threads.
    clock, size = time.perf_counter(), len(sequences)
    each = -(-size // min(job.threads, max(size // SHARD, 1)))
    parts = [_empty_part(job, sequences[at : at + each]) for at in range(0, size, each)]
    # A block emits at least one token, so this many blocks are enough. Steps are equal, so that JAX compiles once.
    most, done = job.burn_in + (job.blocks or job.tokens or 0), 0
    step = -(-most // -(-most * each * job.loop.uniforms // CHUNK))
    # Step by step; the first step runs the parts one by one, so that one of them compiles for all.
    while done < most and (job.tokens is None or any((part.length < job.tokens).any() for part in parts)):
        run = pool.map if done else map
        parts = list(run(partial(_advance, job, rounds, done, step), parts))
        done += step
        length = sum(int(part.length.sum()) for part in parts)
        report(min(1.0, done / most if job.tokens is None else length / (size * job.tokens)))
    # Pool the parts.
    texts = [_joined(np.concatenate(part.texts)) for part in parts if job.keep_tokens]
    kept, starts = np.concatenate([part.kept for part in parts]), sum(part.starts for part in parts)
    tokens = stacked(texts) if texts else None
    return Trace(job.settings, np.array(sequences), kept, job.pair.states, starts, tokens, time.perf_counter() - clock)


def _empty_part(job: Job, sequences: range) -> Part:
    """Sequences before their first block, with counts of 0."""
    kept = np.zeros((len(sequences), job.loop.depth + 1), dtype=np.int64)
    return Part(sequences, None, kept[:, 0].copy(), kept, np.zeros(len(job.pair.p), dtype=np.int64), [])


def _advance(job: Job, rounds: Rounds, done: int, step: int, part: Part) -> Part:
    """The part after `step` more blocks of every sequence; `done` of them were run before."""
    u = uniforms(job.seed, part.sequences, range(done, done + step), job.loop.uniforms)
    state, (nodes, n, tokens) = rounds(part.state, u)
    # Blocks that count: after the burn-in, and before the sequence has its blocks or its tokens.
    block = np.arange(done, done + step)[:, None]
    counted = np.broadcast_to(block >= job.burn_in, n.shape)
    if job.blocks is not None:
        live = counted & (block < job.burn_in + job.blocks)
    else:
        emitted = np.where(counted, n + 1, 0)
        live = counted & (part.length + np.cumsum(emitted, axis=0) - emitted < job.tokens)
    # Add them up, by sequence and accepted drafts, and by context.
    kept = part.kept.copy()
    np.add.at(kept, (np.broadcast_to(np.arange(len(kept)), n.shape)[live], n[live]), 1)
    starts = part.starts + np.bincount(nodes[live], minlength=len(part.starts))
    texts = [*part.texts, np.where(live[..., None], tokens, -1).astype(np.int32)] if job.keep_tokens else []
    return Part(part.sequences, state, part.length + np.where(live, n + 1, 0).sum(axis=0), kept, starts, texts)


def _joined(tokens: Array) -> Array:
    """Texts (B, T), -1 after their ends, from tokens (R, B, depth+1) of blocks, in which -1 fills up each block."""
    rows = tokens.transpose(1, 0, 2).reshape(tokens.shape[1], -1)
    is_token = rows >= 0
    out = np.full((len(rows), int(is_token.sum(axis=1).max(initial=0))), -1, dtype=rows.dtype)
    out[np.arange(out.shape[1]) < is_token.sum(axis=1)[:, None]] = rows[is_token]
    return out
