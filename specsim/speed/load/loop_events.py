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

# Least number of requests that are measured: for each client, and in all.
ANSWERS, REQUESTS = 6, 60
# First answers of each client that are not measured, while the loop warms up.
WARM = 2


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
    """The state of a run: arrays with one entry for each client. Times are seconds since the start.

    prompt, left: tokens of the prompt still to read and of the answer still to write. length, answer: all tokens of
    both. ready: when the request may be served. begun, first: when it was sent and when its first token came. done:
    answers that are finished. cdf: distribution function of the accepted drafts of a block.
    """

    def __init__(self, way: Way, server: Server, clients: int, lengths: Lengths, seed: int) -> None:
        self.way, self.server, self.lengths, self.clients = way, server, lengths, clients
        self.cdf = np.cumsum(way.length_law)
        self.seed, self.drawn = seed, 0
        # Each client begins at a random token of an answer, its prompt read.
        self.prompt = np.zeros(clients, dtype=int)
        self.length = np.zeros(clients, dtype=int)
        self.ready = np.zeros(clients)
        self.answer = self._answer_lengths(clients)
        self.left = np.maximum((self.answer * self._uniforms(clients)).astype(int), 1)
        self.begun = np.zeros(clients)
        self.first = np.zeros(clients)
        self.done = np.zeros(clients, dtype=int)

    def _uniforms(self, count: int) -> Array:
        """Return uniforms that were not drawn before."""
        self.drawn += 1
        return keyed_uniforms(self.seed, self.drawn, 0, count)

    def _answer_lengths(self, count: int) -> Array:
        """Draw the lengths of answers, in tokens."""
        return self.lengths.outputs.draw(self._uniforms(count))

    def run(self, wanted: int) -> LoopTimes:
        """Simulate passes until `wanted` requests are measured; return their times."""
        # Measured requests as (begun, first token, done, tokens); the clock, and tokens written since the warm-up.
        records: list[tuple[float, float, float, int]] = []
        time, passes, began, before = 0.0, 0, 0.0, 0
        warm, written = False, 0
        while len(records) < wanted:
            # One pass: all sequences that decode, and pieces of prompts. If none decodes, wait for the next request.
            decoding = self.prompt == 0
            active = int(decoding.sum())
            if not active:
                time = max(time, float(self.ready.min()))
            read = self._tokens_to_read(active, time)
            pieces = [Piece(int(self.length[i] - self.prompt[i]), int(read[i])) for i in np.nonzero(read)[0]]
            # The pass reads one prompt alone, or everybody's cycle has prompts beside it.
            if pieces and not self.server.chunked:
                time += self.way.added_s(0, pieces)
                tokens = np.zeros(self.clients, dtype=int)
            else:
                cycle_s = self.way.cycle_s(active) if active else 0.0
                time += cycle_s + self.way.added_s(active, pieces)
                accepted = np.searchsorted(self.cdf, self._uniforms(self.clients) * self.cdf[-1], side="right")
                accepted = np.minimum(accepted, self.way.gamma)
                tokens = np.where(decoding, np.minimum(accepted + 1, self.left), 0)
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

    def _tokens_to_read(self, active: int, time: float) -> Array:
        """Return how many tokens of each client's prompt the next pass reads, beside `active` decoding sequences.

        Oldest requests come first. A chunked server fills with their pieces what decoding leaves of its budget. Any
        other reads the oldest prompt alone.
        """
        # Tokens that the pass has room for: each decoding sequence takes its drafts and one token.
        room = self.server.budget
        if self.server.chunked:
            room = max(room - active * (self.way.gamma + 1), 1)
        # Fill the room, oldest request first.
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
        """Let a client send its next prompt; tokens in the prefix cache are not read."""
        whole = int(self.lengths.prompts.draw(self._uniforms(1))[0])
        self.length[client] = whole
        self.prompt[client] = whole - self.server.pieces(whole, 0)[0].begin
        self.ready[client] = time + self.way.wait_s
        self.answer[client] = self.left[client] = int(self._answer_lengths(1)[0])
        self.begun[client] = time


def _times(records: list[tuple[float, float, float, int]], tokens_per_s: float, passes: int) -> LoopTimes:
    """Return the statistics of measured requests (begun, first token, done, tokens)."""
    begun, first, done, answer = (np.array(column, dtype=float) for column in zip(*records, strict=True))
    # Only answers of several tokens have a time per further token.
    has_more = answer > 1
    tpot_s = None
    if has_more.any():
        tpot_s = _percentiles((done - first)[has_more] / (answer - 1)[has_more])
    return LoopTimes(
        tokens_per_s=tokens_per_s,
        ttft_s=_percentiles(first - begun),
        tpot_s=tpot_s,
        total_s=_percentiles(done - begun),
        passes=passes,
        requests=len(records),
    )


def _percentiles(values: Array) -> Percentiles:
    """Return the mean and the quantiles of times."""
    return Percentiles(float(values.mean()), *np.quantile(values, [0.5, 0.95, 0.99]).tolist())
