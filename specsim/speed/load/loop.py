r"""A closed loop: a fixed number of clients, each of which sends its next prompt when its answer ends.

Model.       All clients are served all the time (continuous batching). In every cycle a client's sequence decodes, or
             its prompt is read; a cycle that reads a prompt takes longer by what the tokens of the prompt add to the
             pass.
Fixed point. An answer takes K cycles after the one that reads its prompt. In that time every other client finishes
             one answer, too, so c prompts are read: an answer takes (K + 1) c(C) + C delta, and C clients write

                 X = C E[N] / ((E[K] + 1) T(C) + C delta)

             tokens per second: N tokens of an answer, T(C) a cycle of C sequences, delta what a prompt adds to it.
             It is exact where delta is the same whatever else is read; no law of the lengths enters beyond their means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from specsim.latency import LatencyModel
from specsim.speed.load.request_lengths import Lengths
from specsim.types import Array

# Host work of a pass, more of it in a cycle with drafts, and more for each of its sequences, in seconds: what vLLM 0.24
# left over beside the roofline on one A100 (Llama-3.1-8B, EAGLE-3 with five drafts; at 1, 8, 32 and 64 clients).
HOST_S, CYCLE_S, SEQUENCE_S = 1.0e-3, 1.4e-3, 2.0e-5
# Most tokens of a pass, prompts included, as engines are set by default.
BUDGET = 8192


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

    def padded(self, batch: int) -> int:
        """Return the size at which a batch of decoding sequences runs."""
        return next((size for size in self.captured if size >= batch), batch)


class Way(NamedTuple):
    """One way to decode on a server.

    gamma: drafts in a block, 0 for plain decoding. length_law (gamma+1,): P(drafts kept in a block). cycle_s(batch):
    seconds of a cycle in which so many sequences decode. pass_s(tokens): seconds of a pass over the tokens of one
    sequence. share: what the draft takes of the target's time to read a prompt. host_s: of a pass.
    """

    gamma: int
    length_law: Array
    cycle_s: Callable[[int], float]
    pass_s: Callable[[int], float]
    share: float
    host_s: float

    @property
    def tau(self) -> float:
        """Mean tokens of a cycle."""
        return float(1 + np.arange(len(self.length_law)) @ self.length_law)

    def added_s(self, decoding: int, prompt: int) -> float:
        """Return the seconds that reading so many tokens of prompts adds to a cycle of so many sequences.

        A pass over n tokens takes F(n): prompts ride along, and cost what F grows by.
        """
        if prompt <= 0:
            return 0.0
        if not decoding:
            return self.pass_s(prompt) * (1 + self.share) + self.host_s
        others = decoding * (self.gamma + 1)
        return max(self.pass_s(others + prompt) - self.pass_s(others), 0.0) * (1 + self.share)


def way_of(
    latency: LatencyModel, length_law: Array, server: Server, *, context: int, host_s: float, more_s: float
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
    """
    gamma = len(length_law) - 1
    extra = host_s + (more_s if gamma else 0.0)
    times: dict[int, float] = {}

    def cycle_s(batch: int) -> float:
        size = server.padded(batch)
        if size not in times:
            times[size] = latency.cycle(gamma, size, context).value + extra
        return times[size] + SEQUENCE_S * batch

    passes: dict[int, float] = {}

    def pass_s(tokens: int) -> float:
        if tokens not in passes:
            passes[tokens] = latency.target(tokens, 1, 0).value
        return passes[tokens]

    share = latency.draft(1, 0).value / latency.target(1, 1, 0).value if gamma else 0.0
    return Way(gamma, np.asarray(length_law, dtype=float), cycle_s, pass_s, share, host_s)


class Steady(NamedTuple):
    """The fixed point: tokens per second of all clients, seconds of an answer, cycles after its first token.

    prompt_s: seconds that a prompt adds to the cycle that reads it.
    """

    tokens_per_s: float
    answer_s: float
    cycles: float
    prompt_s: float


def steady(way: Way, server: Server, clients: int, lengths: Lengths, *, prompt_s: float | None = None) -> Steady:
    """Return the fixed point of a loop.

    prompt_s: seconds of a pass that reads one prompt and nothing else, where it was measured; then `lengths` has the
    prompts that such a pass reads (`prompt_of`), and with one client it takes this time exactly.
    """
    whole = way.cycle_s(clients)
    reading = [round(prompt * (1 - server.cached_share)) for prompt in lengths.prompts.values]
    if clients == 1 and prompt_s is not None:
        alone = prompt_s * (1 + way.share)
        more = alone - whole
    elif server.chunked:
        less = whole if clients == 1 else whole - way.cycle_s(clients - 1)
        added = [way.added_s(clients - 1, tokens) for tokens in reading]
        more = float(np.dot(lengths.prompts.weights, added)) - less
    else:
        # Nobody decodes while a prompt is read: the pass comes on top of all cycles, and gives the first token.
        more = float(np.dot(lengths.prompts.weights, [way.added_s(0, max(tokens, 1)) for tokens in reading])) - (
            whole / clients
        )
    cycles = float(np.dot(lengths.outputs.weights, mean_cycles(way.length_law, lengths.outputs.values)))
    answer_s = (cycles + 1) * whole + clients * more
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


def prompt_of(way: Way, seconds: float, most: int) -> int:
    """Return the tokens of a prompt that a pass of its own reads in these seconds, host work included; at least 1.

    The longest prompt whose pass takes no longer: passes over few tokens all take the time of reading the weights.
    """
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        if way.pass_s(middle) + way.host_s <= seconds:
            low = middle
        else:
            high = middle - 1
    return low
