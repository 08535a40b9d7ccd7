r"""A server under load, and its fixed point in a closed loop: clients that send the next prompt when an answer ends.

Model.       All clients are served all the time (continuous batching). In every cycle a client's sequence decodes, or
             a piece of its prompt is read; a cycle that reads a piece takes longer by what its tokens add to the pass.
Fixed point. A prompt is read in R cycles, and an answer takes K more. In that time every other client finishes one
             answer, too, so C prompts are read, and C clients write

                 X = C E[N] / ((E[R] + E[K]) T(C) + C delta + W)

             tokens per second: N tokens of an answer, T(C) a cycle of C sequences, delta what a prompt adds to its
             cycles, W the time that a request waits without occupying the device. It is exact where delta is the same
             whatever else is read, and no prompt waits for another; `passes` simulates what is left out. Requests that
             arrive at a rate (`open_loop`) follow from X at 1, 2, ... clients.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.speed.load.request_lengths import LengthLaw, Lengths
from specsim.speed.load.ways import Server, Way
from specsim.types import Array


class Steady(NamedTuple):
    """The fixed point: tokens per second of all clients, seconds of an answer, cycles after its first token.

    prompt_s: seconds that a prompt adds to the cycles that read it.
    """

    tokens_per_s: float
    answer_s: float
    cycles: float
    prompt_s: float


def steady(way: Way, server: Server, clients: int, lengths: Lengths, cycles: float | None = None) -> Steady:
    """Return the fixed point of a loop; `cycles` of an answer (`answer_cycles`) save their computation."""
    whole = way.cycle_s(clients)
    if cycles is None:
        cycles = answer_cycles(way, lengths)
    reads, more = 0.0, 0.0
    if lengths.prompts is not None:
        reads, more = _reading(way, server, clients, lengths.prompts)
    answer_s = (cycles + reads) * whole + clients * more + way.wait_s
    return Steady(clients * lengths.outputs.mean / answer_s, answer_s, cycles, more)


def _reading(way: Way, server: Server, clients: int, prompts: LengthLaw) -> tuple[float, float]:
    """Return the mean number of cycles in which a prompt is read, and the seconds that it adds to them."""
    # A client whose prompt is read does not decode: the cycles of reading are that much shorter, or, where nobody
    # decodes meanwhile, come on top of those of decoding.
    others = clients - 1 if server.chunked else 0
    shorter = way.cycle_s(clients) - (way.cycle_s(others) if others else 0.0)
    counts, seconds = [], []
    for prompt in prompts.values:
        pieces = server.pieces(int(prompt), others * (way.gamma + 1))
        added = sum(way.added_s(others, [piece]) for piece in pieces)
        counts.append(len(pieces) if others or clients == 1 else 0)
        seconds.append(added - shorter * counts[-1])
    return float(np.dot(prompts.weights, counts)), float(np.dot(prompts.weights, seconds))


def answer_cycles(way: Way, lengths: Lengths) -> float:
    """Return the mean number of cycles of an answer, of requests of all kinds.

    Reading the prompt gives the first token, unless the cycles have the reading in them.
    """
    outputs = lengths.outputs.values + (lengths.prompts is None)
    means = [mean_cycles(law, outputs) for law in way.kinds.length_laws]
    return float(way.kinds.weights @ np.array(means) @ lengths.outputs.weights)


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
