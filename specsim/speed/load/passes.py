"""The server of `ways`, pass by pass, for clients of a closed loop and for requests that arrive at a rate.

A pass takes the tokens of everybody who decodes, then prompts in the order in which they came, in pieces, up to the
server's budget. Each request is of a kind; its blocks are drawn from that kind's law, independently of each other.
While nothing is read, nobody ends and nobody comes, all passes are alike, and are one event.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from specsim.base.uniforms import keyed_stream, keyed_uniforms
from specsim.speed.load.request_lengths import Lengths
from specsim.speed.load.ways import Piece, Server, Way
from specsim.types import Array

# Least number of requests of a closed loop that are measured: for each client, and in all.
ANSWERS, REQUESTS = 24, 400
# First answers of each client that are not measured, while the loop warms up.
WARM = 2
# Shares of the requests that arrive at a rate which come before those that are measured, and after them.
BEFORE, AFTER = 0.2, 0.05


class Percentiles(NamedTuple):
    """Mean, median, and the 95 and 99 % quantiles of a time in seconds."""

    mean: float
    p50: float
    p95: float
    p99: float


class ServedTimes(NamedTuple):
    """Times of simulated requests.

    tokens_per_s: of all requests together, after the warm-up. running: mean number of sequences that decode. ttft_s:
    to the first token, None where cycles have the reading of prompts in them; tpot_s: per further token, None where
    answers have one; total_s: to the last. requests: how many were measured.
    """

    tokens_per_s: float
    running: float
    ttft_s: Percentiles | None
    tpot_s: Percentiles | None
    total_s: Percentiles
    requests: int


def simulate_clients(
    way: Way, server: Server, clients: int, lengths: Lengths, *, seed: int = 0, requests: int | None = None
) -> ServedTimes:
    """Return the times of requests of a closed loop.

    Clients begin somewhere in an answer, so that they do not start in step; answers that begin after two of every
    client are measured, at least so many `requests` of them.
    """
    wanted = max(REQUESTS, ANSWERS * clients) if requests is None else requests
    run = _Run(way, server, lengths, clients, seed)
    done = np.zeros(clients, dtype=int)
    # Each client begins at a random cycle of an answer, its prompt read.
    for client in range(clients):
        run.send(client, 0.0)
        run.prompt[client] = 0
        run.cycles[client] = max(int(run.cycles[client] * run.uniform(client)), 1)
    records: list[Record] = []
    begin = None
    while len(records) < wanted:
        for client in run.step():
            if done[client] >= WARM:
                records.append(run.record(client))
            done[client] += 1
            run.send(client, run.time)
        if begin is None and done.min() >= WARM:
            begin = run.clock()
    return _times(records, run.clock() if begin is None else run.clock().since(begin), lengths)


def simulate_arrivals(
    way: Way, server: Server, rate: float, limit: int, lengths: Lengths, *, requests: int, seed: int = 0
) -> ServedTimes:
    """Return the times of requests that arrive by a Poisson process, of which `limit` are served together at most.

    The others wait in the order in which they came. The run begins and ends empty; `requests` in its middle are
    measured.
    """
    count = math.ceil(requests / (1 - BEFORE - AFTER))
    ends = np.cumsum(-np.log1p(-keyed_uniforms(seed, count, 3, count)))
    # So many arrivals in the time that they take in the mean: the noise of the load itself is left out.
    return served(way, server, ends * (count / ends[-1] / rate), limit, lengths, seed=seed)


def served(way: Way, server: Server, arrivals: Array, limit: int, lengths: Lengths, *, seed: int = 0) -> ServedTimes:
    """Return the times of requests that arrive at these times, which increase."""
    count = len(arrivals)
    first, last = int(BEFORE * count), count - int(AFTER * count)
    run = _Run(way, server, lengths, limit, seed)
    records: dict[int, Record] = {}
    sent, begin, end = 0, None, None
    while len(records) < count:
        # Places that are free are taken by who came first; a wait that occupies no device comes before.
        free = iter(np.nonzero((run.prompt == 0) & (run.cycles == 0))[0].tolist())
        while sent < count and arrivals[sent] + way.wait_s <= run.time and (place := next(free, None)) is not None:
            run.send(place, float(arrivals[sent]), number=sent)
            sent += 1
        is_free = next(free, None) is not None
        next_s = float(arrivals[sent] + way.wait_s) if sent < count and is_free else math.inf
        for place in run.step(next_s):
            records[int(run.number[place])] = run.record(place)
        # Tokens per second are counted while the measured requests arrive.
        if begin is None and sent > first:
            begin = run.clock()
        if end is None and sent >= last:
            end = run.clock()
    middle = (run.clock() if end is None else end).since(run.clock() if begin is None else begin)
    return _times([records[i] for i in range(first, last)], middle, lengths)


class Record(NamedTuple):
    """One request: when it was sent, its first token, its last, and its tokens."""

    begun: float
    first: float
    done: float
    tokens: int


class Clock(NamedTuple):
    """The time, the tokens written until then, and the integral of the number of decoding sequences over time."""

    time: float
    written: float
    busy: float

    def since(self, begin: Clock) -> Clock:
        """Return what was added since an earlier reading."""
        return Clock(self.time - begin.time, self.written - begin.written, self.busy - begin.busy)


class _Run:
    """The state of a run: arrays with one entry for each place of the server. Times are seconds since the start.

    prompt, cycles: tokens of the prompt still to read, and cycles of the answer still to run; a place without either is
    free. length, tokens: all tokens of the prompt and of the answer. pace: tokens of the answer a cycle. ready: when
    the request may be served. begun, first: when it was sent and when its first token came. number: which request.
    """

    def __init__(self, way: Way, server: Server, lengths: Lengths, places: int, seed: int) -> None:
        self.way, self.server, self.lengths, self.seed = way, server, lengths, seed
        self.cdfs = np.cumsum(way.kinds.length_laws, axis=1)
        self.of_kinds = np.cumsum(way.kinds.weights)
        self.time = self.written = self.busy = 0.0
        self.sent = 0
        self.prompt, self.cycles, self.length, self.tokens, self.number = np.zeros((5, places), dtype=int)
        self.pace, self.ready, self.begun, self.first = np.zeros((4, places))

    def uniform(self, place: int) -> float:
        """Return a uniform that the request at a place has not used otherwise."""
        return float(keyed_uniforms(self.seed, int(self.number[place]), 2, 1)[0])

    def send(self, place: int, time: float, number: int | None = None) -> None:
        """Put a request that was sent at a time at a place; what a prefix cache holds of its prompt is not read."""
        self.number[place] = self.sent if number is None else number
        self.sent += 1
        # The kind and both lengths: the same for every way to decode, as requests are.
        draw = keyed_stream(self.seed, int(self.number[place]))
        u = draw(0, 3)
        tokens = int(self.lengths.outputs.draw(u[:1])[0])
        kind = min(int(np.searchsorted(self.of_kinds, u[2] * self.of_kinds[-1], side="right")), len(self.cdfs) - 1)
        left = tokens
        if self.lengths.prompts is not None:
            whole = int(self.lengths.prompts.draw(u[1:2])[0])
            self.length[place] = whole
            self.prompt[place] = whole - self.server.pieces(whole, 0)[0].begin
            # Reading the prompt gives the first token.
            left -= 1
        self.tokens[place] = tokens
        self.cycles[place] = self._cycles(kind, left, draw)
        self.pace[place] = left / max(self.cycles[place], 1)
        self.ready[place] = time + self.way.wait_s
        self.begun[place], self.first[place] = time, self.time

    def _cycles(self, kind: int, left: int, draw: Callable[[int, int], Array]) -> int:
        """Draw the cycles that write so many tokens; the last block may end beyond them."""
        if self.way.gamma == 0 or left == 0:
            return left
        cdf = self.cdfs[kind]
        blocks = np.searchsorted(cdf, draw(1, left) * cdf[-1], side="right")
        ends = np.cumsum(np.minimum(blocks, self.way.gamma) + 1)
        return int(np.searchsorted(ends, left)) + 1

    def step(self, next_s: float = math.inf) -> list[int]:
        """Run one pass that reads prompts, or alike passes until something changes; return the places that end.

        next_s: when the next request comes, if it has a free place.
        """
        decoding = (self.prompt == 0) & (self.cycles > 0)
        active = int(decoding.sum())
        waiting = self.prompt > 0
        coming = self.ready[waiting & (self.ready > self.time)]
        next_s = min(next_s, float(coming.min()) if coming.size else math.inf)
        reading = waiting & (self.ready <= self.time)
        # Nobody is served: wait for the next request.
        if not active and not reading.any():
            self.time = next_s
            return []
        if reading.any():
            return self._read(reading, decoding, active)
        cycle_s = self.way.cycle_s(active)
        steps = int(self.cycles[decoding].min())
        if next_s < math.inf:
            steps = min(steps, max(math.ceil((next_s - self.time) / cycle_s), 1))
        self._decode(decoding, active, steps, cycle_s)
        return np.nonzero(decoding & (self.cycles == 0))[0].tolist()

    def _decode(self, decoding: Array, active: int, cycles: int, cycle_s: float) -> None:
        """Let the decoding sequences run so many cycles."""
        self.cycles[decoding] -= cycles
        self.written += cycles * float(self.pace[decoding].sum())
        self.busy += active * cycles * cycle_s
        self.time += cycles * cycle_s

    def _read(self, reading: Array, decoding: Array, active: int) -> list[int]:
        """Run a pass that reads prompts, beside everybody's cycle on a chunked server; return the places that end."""
        # Tokens that the pass has room for: each decoding sequence takes its drafts and one token.
        chunked = self.server.chunked
        room = self.server.budget
        if chunked:
            room = max(room - active * (self.way.gamma + 1), 1)
        # Fill the room, oldest request first; a server that is not chunked reads one prompt alone.
        order = np.nonzero(reading)[0]
        order = order[np.lexsort((self.number[order], self.begun[order]))]
        read = np.zeros(len(self.prompt), dtype=int)
        for i in order if chunked else order[:1]:
            read[i] = min(self.prompt[i], room)
            room -= int(read[i])
            if room == 0:
                break
        pieces = [Piece(int(self.length[i] - self.prompt[i]), int(read[i])) for i in np.nonzero(read)[0]]
        ended = np.zeros(len(self.prompt), dtype=bool)
        if chunked:
            cycle_s = self.way.cycle_s(active) if active else 0.0
            self._decode(decoding, active, 1, cycle_s + self.way.added_s(active, pieces))
            ended = decoding & (self.cycles == 0)
        else:
            self.time += self.way.added_s(0, pieces)
        # Prompts that are read give the first token.
        self.prompt -= read
        started = (read > 0) & (self.prompt == 0)
        self.first[started] = self.time
        self.written += int(started.sum())
        return np.nonzero(ended | (started & (self.cycles == 0)))[0].tolist()

    def record(self, place: int) -> Record:
        """Return the times of the request that has just ended at a place."""
        return Record(float(self.begun[place]), float(self.first[place]), self.time, int(self.tokens[place]))

    def clock(self) -> Clock:
        """Return the time, and what was done until then."""
        return Clock(self.time, self.written, self.busy)


def _times(records: list[Record], middle: Clock, lengths: Lengths) -> ServedTimes:
    """Return the statistics of measured requests, and of the time in which they were served."""
    begun, first, done, tokens = (np.array(column, dtype=float) for column in zip(*records, strict=True))
    has_reading = lengths.prompts is not None
    # Only answers of several tokens have a time per further token; all tokens count where reading is in the cycles.
    further = tokens - has_reading
    tpot_s = None
    if (further > 0).any():
        tpot_s = _percentiles((done - first)[further > 0] / further[further > 0])
    return ServedTimes(
        tokens_per_s=middle.written / middle.time if middle.time else math.nan,
        running=middle.busy / middle.time if middle.time else math.nan,
        ttft_s=_percentiles(first - begun) if has_reading else None,
        tpot_s=tpot_s,
        total_s=_percentiles(done - begun),
        requests=len(records),
    )


def _percentiles(values: Array) -> Percentiles:
    """Return the mean and the quantiles of times."""
    return Percentiles(float(values.mean()), *np.quantile(values, [0.5, 0.95, 0.99]).tolist())
