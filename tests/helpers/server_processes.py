"""A server under load by processes of simpy: clients or arrivals, and an engine that makes passes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from specsim.speed.load.request_lengths import Lengths
from specsim.speed.load.ways import Piece, Server, Way


class Request:
    """A request: tokens of its prompt, of them still to read, of its answer still to write; its kind; when it came."""

    def __init__(self, env: Any, rng: random.Random, way: Way, server: Server, lengths: Lengths) -> None:
        assert lengths.prompts is not None
        self.prompt, self.left = (
            int(rng.choices(law.values, law.weights)[0]) for law in (lengths.prompts, lengths.outputs)
        )
        self.tokens = self.left
        self.unread = self.prompt - min(round(self.prompt * server.cached_share), self.prompt - 1)
        self.kind = rng.choices(range(len(way.kinds.weights)), way.kinds.weights)[0]
        self.came, self.first, self.done = env.now, 0.0, 0.0
        self.end = env.event()


class Processes:
    """A run: requests that are done, in `ended`, and tokens as they are written, in `written`."""

    def __init__(self, way: Way, server: Server, lengths: Lengths, limit: int, seed: int = 2) -> None:
        simpy = pytest.importorskip("simpy")
        self.env, self.rng = simpy.Environment(), random.Random(seed)
        self.way, self.server, self.lengths, self.limit = way, server, lengths, limit
        self.queue: list[Request] = []
        self.waiting: list[Request] = []
        self.decoding: list[Request] = []
        self.ended: list[Request] = []
        self.written: list[tuple[float, int]] = []
        self.env.process(self.engine())

    def client(self) -> Any:
        yield self.env.timeout(self.rng.uniform(0, 5))
        while True:
            request = self.send()
            yield request.end

    def arrivals(self, rate: float) -> Any:
        while True:
            yield self.env.timeout(self.rng.expovariate(rate))
            self.send()

    def send(self) -> Request:
        request = Request(self.env, self.rng, self.way, self.server, self.lengths)
        self.queue.append(request)
        return request

    def engine(self) -> Any:
        way, server = self.way, self.server
        kept = list(range(way.gamma + 1))
        while True:
            while self.queue and len(self.waiting) + len(self.decoding) < self.limit:
                self.waiting.append(self.queue.pop(0))
            if not self.waiting and not self.decoding:
                yield self.env.timeout(1e-4)
                continue
            joint = server.chunked or not self.waiting
            room = server.budget - (len(self.decoding) * (way.gamma + 1) if server.chunked else 0)
            reading, pieces = self.waiting[: None if server.chunked else 1], []
            for request in reading:
                pieces.append(min(request.unread, room))
                room -= pieces[-1]
            active = list(self.decoding) if joint else []
            seconds = way.cycle_s(len(active)) if active else 0.0
            parts = [Piece(r.prompt - r.unread, piece) for r, piece in zip(reading, pieces, strict=True) if piece]
            yield self.env.timeout(seconds + way.added_s(len(active), parts))
            for request, piece in zip(reading, pieces, strict=True):
                request.unread -= piece
                if request.unread == 0:
                    self.waiting.remove(request)
                    self.decoding.append(request)
                    request.first = self.env.now
                    self.write(request, 1)
            for request in active:
                self.write(request, 1 + self.rng.choices(kept, way.kinds.length_laws[request.kind])[0])

    def write(self, request: Request, tokens: int) -> None:
        self.written.append((self.env.now, min(tokens, request.left)))
        request.left -= self.written[-1][1]
        if request.left == 0:
            self.decoding.remove(request)
            request.done = self.env.now
            self.ended.append(request)
            request.end.succeed()


def tokens_per_s(run: Processes, clients: int, seconds: float) -> float:
    """Tokens per second of a closed loop, in the second half of twice so many seconds."""
    for _ in range(clients):
        run.env.process(run.client())
    run.env.run(until=2 * seconds + 5)
    return sum(tokens for time, tokens in run.written if time > seconds + 5) / (run.env.now - seconds - 5)


def requests_at(run: Processes, rate: float, count: int) -> list[Request]:
    """Requests that arrive at a rate, so many of them, after as many as a fourth of these."""
    run.env.process(run.arrivals(rate))
    while len(run.ended) < count * 5 // 4:
        run.env.run(until=run.env.now + count / rate / 4)
    return run.ended[count // 4 : count * 5 // 4]
