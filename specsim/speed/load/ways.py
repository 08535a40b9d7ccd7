"""A server, and the ways to decode on it: what a cycle costs, how drafts are accepted, how prompts are read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from specsim.latency import LatencyModel
from specsim.types import Array

# Queries and tokens before them, by which the attention of a prompt is priced.
QUERIES, SEEN = 512, 8192
# Most tokens of a pass, prompts included, as engines are set by default.
BUDGET = 8192


class Piece(NamedTuple):
    """A piece of a prompt: tokens before it, and its own."""

    begin: int
    tokens: int


class Server(NamedTuple):
    """How a server batches: its captured batch sizes, and how it reads prompts.

    captured: sizes that a batch is padded to, increasing; a larger batch, or any if there are none, runs as it is.
    budget: most tokens of a pass, prompts and drafts included. chunked: prompts are read in the passes of those who
    decode, in pieces if they do not fit; else a pass reads one prompt alone, and nobody decodes meanwhile.
    cached_share: of the tokens of a prompt, those that a prefix cache holds already.
    """

    captured: tuple[int, ...] = ()
    budget: int = BUDGET
    chunked: bool = True
    cached_share: float = 0.0

    def pieces(self, prompt: int, others: int) -> list[Piece]:
        """Return the pieces in which a prompt is read beside so many other tokens; what is cached is not read."""
        begin = min(round(prompt * self.cached_share), prompt - 1)
        room = max(self.budget - others, 1)
        return [Piece(at, min(room, prompt - at)) for at in range(begin, prompt, room)]

    def padded(self, batch: int) -> int:
        """Return the size at which a batch of decoding sequences runs."""
        return next((size for size in self.captured if size >= batch), batch)


class Host(NamedTuple):
    """Seconds of host work: of every pass, more of it in a cycle with drafts, and more for each of its sequences."""

    pass_s: float
    drafting_s: float
    sequence_s: float


# What vLLM 0.24 left over beside the roofline on one A100 (Llama-3.1-8B, EAGLE-3 with five drafts; at 1, 8, 32 and 64
# clients); and none, where times of cycles have it in them.
MEASURED_HOST = Host(1.0e-3, 1.4e-3, 2.0e-5)
NO_HOST = Host(0.0, 0.0, 0.0)


class Reading(NamedTuple):
    """How prompts are read: the fields of `Way` that say so, and the draft's share of the target's time for them."""

    tokens_s: Callable[[int], float]
    draft_share: float = 0.0
    attention_s: float = 0.0
    scale: float = 1.0
    wait_s: float = 0.0


def predicted_reading(passes: LatencyModel) -> Reading:
    """Return how prompts are read by the passes of a model that covers every number of tokens."""

    # Tokens of sequences of their own see nothing before them.
    @cache
    def tokens_s(tokens: int) -> float:
        return passes.target(1, tokens, 0).value

    attention_s = (passes.target(QUERIES, 1, SEEN).value - passes.target(QUERIES, 1, 0).value) / (QUERIES * SEEN)
    return Reading(tokens_s, passes.draft(1, 0).value / passes.target(1, 1, 0).value, attention_s)


def measured_reading(seconds: dict[int, float], draft_share: float) -> Reading:
    """Return how prompts are read by the times of passes over 1 and more tokens: on lines, the last without end.

    Examples
    --------
    >>> round(measured_reading({1: 0.010, 101: 0.030}, 0.0).tokens_s(201), 6)
    0.05
    """
    sizes = sorted(seconds)
    if len(sizes) < 2:
        raise ValueError(f"passes of {sizes} tokens are measured; two sizes or more make a line")

    def tokens_s(tokens: int) -> float:
        """Return the time of a pass over so many tokens."""
        above = min(max(bisect_left(sizes, tokens), 1), len(sizes) - 1)
        low, high = sizes[above - 1], sizes[above]
        slope = (seconds[high] - seconds[low]) / (high - low)
        return seconds[low] + (tokens - low) * slope

    return Reading(tokens_s, draft_share)


class Kinds(NamedTuple):
    """Kinds of requests: their shares of requests (kinds,), and P(drafts accepted in a block) (kinds, gamma+1)."""

    weights: Array
    length_laws: Array

    @property
    def tau(self) -> float:
        """Tokens of a cycle, over long answers of one length: a kind that accepts less takes more of the cycles."""
        taus = 1 + self.length_laws @ np.arange(self.length_laws.shape[1])
        return float(1 / (self.weights @ (1 / taus)))


def alike(length_law: Array) -> Kinds:
    """Return the one kind of requests that all accept drafts by the same law (gamma+1,)."""
    return Kinds(np.ones(1), np.asarray(length_law, dtype=float)[None])


class Way(NamedTuple):
    """One way to decode on a server.

    gamma: drafts in a block, 0 for plain decoding. kinds: of requests, by the drafts that they accept. cycle_s(batch):
    seconds of a cycle in which so many sequences decode. tokens_s(tokens): seconds of a pass over so many tokens, but
    for attention to what stands before them. attention_s: of one token of a prompt to one token before it. share: what
    the draft takes of the target's time to read a prompt. host_s: of a pass. scale: what reading takes, over what it is
    predicted to take. wait_s: of a request that waits without occupying the device.
    """

    gamma: int
    kinds: Kinds
    cycle_s: Callable[[int], float]
    tokens_s: Callable[[int], float]
    share: float
    host_s: float
    attention_s: float = 0.0
    scale: float = 1.0
    wait_s: float = 0.0

    def added_s(self, decoding: int, pieces: Sequence[Piece]) -> float:
        """Return the seconds that reading pieces of prompts adds to a cycle of so many sequences.

        A pass over n tokens takes F(n): prompts ride along and cost what F grows by; a pass that reads prompts alone
        takes F and the host's work. A token of a prompt attends to all before it.
        """
        tokens = sum(piece.tokens for piece in pieces)
        if tokens <= 0:
            return 0.0
        others = decoding * (self.gamma + 1)
        linear = self.tokens_s(others + tokens) - (self.tokens_s(others) if others else 0.0)
        seen = sum(piece.tokens * (piece.begin + piece.tokens / 2) for piece in pieces)
        reading = max(linear, 0.0) + self.attention_s * seen
        return self.scale * reading * (1 + self.share) + (0.0 if others else self.host_s)


def way_of(
    latency: LatencyModel, kinds: Kinds, server: Server, reading: Reading, *, context: int, host: Host = NO_HOST
) -> Way:
    """Return a way to decode: plain with laws of one entry, else with as many drafts as the laws have entries more.

    Parameters
    ----------
    latency : LatencyModel
        In seconds; of the mean cycle, where some cycles have no draft.
    kinds : Kinds
        Of requests, by the drafts that they accept.
    server : Server
        How it batches.
    reading : Reading
        How prompts are read.
    context : int
        Tokens before a block, in the mean.
    host : Host
        Its work beside the device's.
    """
    gamma = kinds.length_laws.shape[1] - 1
    extra = host.pass_s + (host.drafting_s if gamma else 0.0)

    @cache
    def padded_s(size: int) -> float:
        return latency.cycle(gamma, size, context).value + extra

    def cycle_s(batch: int) -> float:
        return padded_s(server.padded(batch)) + host.sequence_s * batch

    share = reading.draft_share if gamma else 0.0
    return Way(
        gamma, kinds, cycle_s, reading.tokens_s, share, host.pass_s, reading.attention_s, reading.scale, reading.wait_s
    )


def alone_s(way: Way, server: Server, prompt: int) -> float:
    """Return the seconds of passes that read one prompt and nothing else, host work included."""
    return sum(way.added_s(0, [piece]) for piece in server.pieces(prompt, 0))


def prompt_of(way: Way, server: Server, seconds: float, most: int) -> int:
    """Return the longest prompt that is read alone in these seconds; 0 if none is, `most` if all up to it are.

    Passes over few tokens all take the time of reading the weights.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if alone_s(way, server, middle) <= seconds:
            low = middle
        else:
            high = middle - 1
    return low
