"""The closed loop of `loop`, pass by pass: who decodes, whose prompt is read, and what every request waits for.

A pass takes the tokens of everybody who decodes, then prompts in the order in which they came, in pieces, up to the
server's budget. The draws are those of independent blocks, from the law of the drafts kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.base.uniforms import keyed_uniforms
from specsim.speed.load.loop import Piece, Server, Way
from specsim.speed.load.request_lengths import Lengths
from specsim.types import Array

# Answers of every client that are measured, at least, and requests in all; answers of each that are not.
ANSWERS, REQUESTS, WARM = 6, 60, 2


class Percentiles(NamedTuple):
    """Mean, median, and the 95 and 99 % quantiles of a time in seconds."""

    mean: float
    p50: float
    p95: float
    p99: float


class LoopTimes(NamedTuple):
    """Times of the requests of a simulated loop.

    tokens_per_s: of all clients, after the warm-up. ttft_s: to the first token; tpot_s: per further token, None
    where answers have one; total_s: to the last. passes, requests: how many were simulated and measured.
    """

    tokens_per_s: float
    ttft_s: Percentiles
    tpot_s: Percentiles | None
    total_s: Percentiles
    passes: int
    requests: int


def simulate_loop(
    way: Way, server: Server, clients: int, lengths: Lengths, *, seed: int = 0, requests: int | None = None
) -> LoopTimes:
    """Return the times of requests of a closed loop.

    Clients begin somewhere in an answer, so that they do not start in step; answers that begin after two of every
    client are measured, at least so many `requests` of them.
    """
    wanted = max(REQUESTS, ANSWERS * clients) if requests is None else requests
    return _Loop(way, server, clients, lengths, seed).run(wanted)


class _Loop:
    """The state of a run: arrays with one entry for each client."""

    def __init__(self, way: Way, server: Server, clients: int, lengths: Lengths, seed: int) -> None:
        self.way, self.server, self.lengths, self.clients = way, server, lengths, clients
        self.cdf = np.cumsum(way.length_law)
        self.seed, self.drawn = seed, 0
        # Tokens of the prompt that are to be read, and of the answer that are to be written.
        self.prompt = np.zeros(clients, dtype=int)
        self.length = np.zeros(clients, dtype=int)
        self.ready = np.zeros(clients)
        whole = self._outputs(clients)
        self.left = np.maximum((whole * self._uniforms(clients)).astype(int), 1)
        self.answer = whole.copy()
        self.begun = np.zeros(clients)
        self.first = np.zeros(clients)
        self.done = np.zeros(clients, dtype=int)

    def _uniforms(self, count: int) -> Array:
        self.drawn += 1
        return keyed_uniforms(self.seed, self.drawn, 0, count)

    def _outputs(self, count: int) -> Array:
        return self.lengths.outputs.draw(self._uniforms(count))

    def run(self, wanted: int) -> LoopTimes:
        """Simulate passes until so many requests are done."""
        records: list[tuple[float, float, float, int]] = []
        time, passes, began, before = 0.0, 0, 0.0, 0
        warm, written = False, 0
        while len(records) < wanted:
            # One pass: everybody who decodes, and pieces of prompts; without either, the next request is awaited.
            decoding = self.prompt == 0
            active = int(decoding.sum())
            if not active:
                time = max(time, float(self.ready.min()))
            read = self._read(active, time)
            pieces = [Piece(int(self.length[i] - self.prompt[i]), int(read[i])) for i in np.nonzero(read)[0]]
            if pieces and not self.server.chunked:
                time += self.way.added_s(0, pieces)
                tokens = np.zeros(self.clients, dtype=int)
            else:
                time += (self.way.cycle_s(active) if active else 0.0) + self.way.added_s(active, pieces)
                kept = np.searchsorted(self.cdf, self._uniforms(self.clients) * self.cdf[-1], side="right")
                kept = np.minimum(kept, self.way.gamma)
                tokens = np.where(decoding, np.minimum(kept + 1, self.left), 0)
            passes += 1

            # Prompts that are read give the first token.
            self.prompt -= read
            started = (read > 0) & (self.prompt == 0)
            self.first[started] = time
            tokens[started] = 1
            self.left -= tokens
            written += int(tokens.sum())

            # Answers that are done are recorded, and their clients send the next prompt.
            for i in np.nonzero((self.left == 0) & (self.prompt == 0))[0]:
                if self.done[i] >= WARM:
                    records.append((self.begun[i], self.first[i], time, int(self.answer[i])))
                self.done[i] += 1
                self._send(int(i), time)
            if not warm and self.done.min() >= WARM:
                warm, began, before = True, time, written
        return _times(records, (written - before) / (time - began) if time > began else float("nan"), passes)

    def _read(self, active: int, time: float) -> Array:
        """Return the tokens of each prompt that the next pass reads: the oldest first, or the oldest alone."""
        room = self.server.budget
        if self.server.chunked:
            room = max(room - active * (self.way.gamma + 1), 1)
        read = np.zeros(self.clients, dtype=int)
        waiting = np.nonzero((self.prompt > 0) & (self.ready <= time))[0]
        order = waiting[np.argsort(self.begun[waiting], kind="stable")]
        for i in order if self.server.chunked else order[:1]:
            read[i] = min(self.prompt[i], room)
            room -= int(read[i])
            if room == 0:
                break
        return read

    def _send(self, client: int, time: float) -> None:
        """Let a client send its next prompt."""
        whole = int(self.lengths.prompts.draw(self._uniforms(1))[0])
        self.length[client] = whole
        self.prompt[client] = whole - self.server.pieces(whole, 0)[0].begin
        self.ready[client] = time + self.way.wait_s
        self.answer[client] = self.left[client] = int(self._outputs(1)[0])
        self.begun[client] = time


def _times(records: list[tuple[float, float, float, int]], tokens_per_s: float, passes: int) -> LoopTimes:
    begun, first, done, answer = (np.array(column, dtype=float) for column in zip(*records, strict=True))
    more = answer > 1
    first_s = _percentiles(first - begun)
    each_s = _percentiles((done - first)[more] / (answer - 1)[more]) if more.any() else None
    return LoopTimes(tokens_per_s, first_s, each_s, _percentiles(done - begun), passes, len(records))


def _percentiles(values: Array) -> Percentiles:
    return Percentiles(float(values.mean()), *np.quantile(values, [0.5, 0.95, 0.99]).tolist())
