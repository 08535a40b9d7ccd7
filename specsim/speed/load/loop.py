r"""A closed loop: a fixed number of clients, each of which sends its next prompt when its answer ends.

Model.       All clients are served all the time (continuous batching). In every cycle a client's sequence decodes, or
             a piece of its prompt is read; a cycle that reads a piece takes longer by what its tokens add to the pass.
Fixed point. A prompt is read in R cycles, and an answer takes K more. In that time every other client finishes one
             answer, too, so C prompts are read, and C clients write

                 X = C E[N] / ((E[R] + E[K]) T(C) + C delta + W)

             tokens per second: N tokens of an answer, T(C) a cycle of C sequences, delta what a prompt adds to its
             cycles, W the time that a request waits without occupying the device. It is exact where delta is the same
             whatever else is read, and no prompt waits for another; `loop_events` simulates what is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from specsim.latency import LatencyModel
from specsim.speed.load.request_lengths import Lengths
from specsim.types import Array

# Host work of a pass, more of it in a cycle with drafts, and more for each of its sequences, in seconds: what vLLM 0.24
# left over beside the roofline on one A100 (Llama-3.1-8B, EAGLE-3 with five drafts; at 1, 8, 32 and 64 clients).
HOST_S, CYCLE_S, SEQUENCE_S = 1.0e-3, 1.4e-3, 2.0e-5
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


class Way(NamedTuple):
    """One way to decode on a server.

    gamma: drafts in a block, 0 for plain decoding. length_law (gamma+1,): P(drafts kept in a block). cycle_s(batch):
    seconds of a cycle in which so many sequences decode. tokens_s(tokens): seconds of a pass over so many tokens, but
    for attention to what stands before them. attention_s: of one token of a prompt to one token before it. share: what
    the draft takes of the target's time to read a prompt. host_s: of a pass. scale: what reading takes, over what it is
    predicted to take. wait_s: of a request that waits without occupying the device.
    """

    gamma: int
    length_law: Array
    cycle_s: Callable[[int], float]
    tokens_s: Callable[[int], float]
    share: float
    host_s: float
    attention_s: float = 0.0
    scale: float = 1.0
    wait_s: float = 0.0

    @property
    def tau(self) -> float:
        """Mean tokens of a cycle."""
        return float(1 + np.arange(len(self.length_law)) @ self.length_law)

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
    latency: LatencyModel,
    length_law: Array,
    server: Server,
    *,
    context: int,
    host_s: float,
    more_s: float,
    reading: LatencyModel | None = None,
) -> Way:
    """Return a way to decode: plain with a law of one entry, else with as many drafts as the law has entries more.

    Parameters
    ----------
    latency : LatencyModel
        In seconds.
    length_law : array, shape (gamma+1,)
        P(0, 1, ..., gamma drafts are kept).
    server : Server
        How it batches.
    context : int
        Tokens before a block, in the mean.
    host_s, more_s : float
        Host work of every pass, and more of it in a cycle with drafts.
    reading : LatencyModel, optional
        Of passes that read prompts, where `latency` is a mean over steps with and without drafts.
    """
    gamma = len(length_law) - 1
    extra = host_s + (more_s if gamma else 0.0)
    passes = latency if reading is None else reading

    @cache
    def padded_s(size: int) -> float:
        return latency.cycle(gamma, size, context).value + extra

    def cycle_s(batch: int) -> float:
        return padded_s(server.padded(batch)) + SEQUENCE_S * batch

    # Tokens of sequences of their own see nothing before them.
    @cache
    def tokens_s(tokens: int) -> float:
        return passes.target(1, tokens, 0).value

    attention_s = (passes.target(QUERIES, 1, SEEN).value - passes.target(QUERIES, 1, 0).value) / (QUERIES * SEEN)
    share = passes.draft(1, 0).value / passes.target(1, 1, 0).value if gamma else 0.0
    return Way(gamma, np.asarray(length_law, dtype=float), cycle_s, tokens_s, share, host_s, attention_s)


class Steady(NamedTuple):
    """The fixed point: tokens per second of all clients, seconds of an answer, cycles after its first token.

    prompt_s: seconds that a prompt adds to the cycles that read it.
    """

    tokens_per_s: float
    answer_s: float
    cycles: float
    prompt_s: float


def steady(way: Way, server: Server, clients: int, lengths: Lengths) -> Steady:
    """Return the fixed point of a loop."""
    whole = way.cycle_s(clients)
    others = clients - 1 if server.chunked else 0
    # A client whose prompt is read does not decode: the cycles of reading are that much shorter, or, where nobody
    # decodes meanwhile, come on top of those of decoding.
    rest = way.cycle_s(others) if others else 0.0
    counts, seconds = [], []
    for prompt in lengths.prompts.values:
        pieces = server.pieces(int(prompt), others * (way.gamma + 1))
        added = sum(way.added_s(others, [piece]) for piece in pieces)
        counts.append(len(pieces) if others or clients == 1 else 0)
        seconds.append(added - (whole - rest) * counts[-1])
    reads = float(np.dot(lengths.prompts.weights, counts))
    more = float(np.dot(lengths.prompts.weights, seconds))
    cycles = float(np.dot(lengths.outputs.weights, mean_cycles(way.length_law, lengths.outputs.values)))
    answer_s = (cycles + reads) * whole + clients * more + way.wait_s
    return Steady(clients * lengths.outputs.mean / answer_s, answer_s, cycles, more)


def mean_cycles(length_law: Array, outputs: Array) -> Array:
    """Return the mean number of cycles of answers of these lengths, after their first token.

    A block that would write beyond the end counts as one cycle: m(n) = 1 + sum_j P(j kept) m(n - j - 1).

    Examples
    --------
    >>> mean_cycles(np.array([0.5, 0.5]), np.array([1, 2, 3])).tolist()
    [0.0, 1.0, 1.5]
    """
    law = np.asarray(length_law, dtype=float)
    most = int(np.max(outputs)) - 1
    means = np.zeros(most + 1)
    for left in range(1, most + 1):
        before = means[max(left - len(law), 0) : left][::-1]
        means[left] = 1 + law[: len(before)] @ before
    return means[np.asarray(outputs) - 1]


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
