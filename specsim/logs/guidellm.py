"""guidellm's `benchmarks.json`: one run a benchmark, each at its own number of clients or rate.

Seen in guidellm 0.8.1, and in the source since 0.7 (src/guidellm/benchmark/schemas, report schema 2). Nothing in
it says whether the server drafted. Requests have their tokens, the chunks in which these came, and the mean time
between tokens, in milliseconds: from the first chunk to the last, over the tokens less one. Servers that speculate
send the tokens of a step as one chunk, so tokens of a chunk are those of a step. Without `usage` of the server
guidellm counts each chunk as one token.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from specsim.base.reading import json_values
from specsim.latency import Timing
from specsim.logs.record import EngineLog, check_counts, fields, number, timing, whole

NAME = "guidellm"
EXPECTS = "benchmarks.json of guidellm, with metadata, benchmarks and their requests"
SCHEMA = 2
# Tokens of a chunk up to which a run is plain, and from which it is one with drafts. A plain run has a little more than
# 1: the token that ends an answer, and parts of a character, send no text.
PLAIN, DRAFTED = 1.1, 1.25
# Relative difference of a printed mean time and the one that its timestamps give.
CLOSE = 5e-3
PLAIN_WORDS = (
    "each chunk of the stream has one token, so the run is taken for one without speculation: the file does not say "
    "it, and a server that sends tokens one by one hides its drafts"
)
DRAFTED_WORDS = (
    "tokens of a chunk of the stream are taken for those of a step: the file counts neither drafts nor steps, and a "
    "server or client that joins chunks makes more of them"
)


class Request(NamedTuple):
    """One answer: tokens and chunks after the first of each, and seconds of a further token."""

    tokens: int
    chunks: int
    token_s: float


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return '"guidellm_version"' in text and '"benchmarks"' in text and text.lstrip()[:1] == "{"


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the runs of a file, one a benchmark."""
    values = json_values(text, source)
    if len(values) != 1:
        raise ValueError(f"{source} holds {len(values)} reports; expected one")
    report = fields(values[0], source)
    version = fields(report.get("metadata"), f"{source}: metadata").get("version")
    if version != SCHEMA:
        raise ValueError(
            f"{source}: the report has schema version {version!r}; {SCHEMA} is read, which guidellm 0.7 and later write"
        )
    benchmarks = report.get("benchmarks")
    if not isinstance(benchmarks, list) or not benchmarks:
        raise ValueError(f"{source} has no benchmarks; expected one or more")
    many = len(benchmarks) > 1
    return tuple(
        _run(fields(value, source), f"{source}, benchmark {i}" if many else source)
        for i, value in enumerate(benchmarks, 1)
    )


def _run(benchmark: dict[str, Any], source: str) -> EngineLog:
    """Return the run of one benchmark."""
    # Answers that ended, with times between their tokens.
    held = fields(benchmark.get("requests"), f"{source}: requests")
    answers = held.get("successful")
    if not isinstance(answers, list) or not answers:
        raise ValueError(
            f"{source} holds no successful requests; expected them with their times (guidellm leaves them out where "
            "its sample size is 0)"
        )
    read = [_request(fields(value, place), place) for value, place in _placed(answers, source)]
    requests = [request for request in read if request is not None]
    if not requests:
        raise ValueError(
            f"{source}: no answer has two tokens or more with their times; expected answers that were streamed"
        )
    notes = ["the time of a token is the mean over requests and includes prompts that were read in between"]
    if len(requests) < len(read):
        notes.append(f"{len(read) - len(requests)} answers of one token, or that were not streamed, are left out")
    others = [status for status in ("errored", "incomplete") if held.get(status)]
    notes += [f"{len(held[status])} {status} requests are left out" for status in others]

    # Requests in service at a time, whatever became of them.
    metrics = fields(benchmark.get("metrics"), f"{source}: metrics")
    concurrency = fields(metrics.get("request_concurrency"), f"{source}: request_concurrency").get("total")
    place = f"{source}: request_concurrency.total.mean"
    batch = number(str(fields(concurrency, place).get("mean")), place)
    run = EngineLog(NAME, source, False, batch=max(batch, 1.0), token=timing([request.token_s for request in requests]))

    # Whether it drafted, by the tokens of a chunk.
    tau = _tokens_of_a_chunk(requests)
    if tau.value <= PLAIN:
        return check_counts(run._replace(notes=(*notes, PLAIN_WORDS)))
    if tau.value < DRAFTED:
        raise ValueError(
            f"{source}: chunks of the stream have {tau.value:.3g} tokens in the mean, and nothing in the file says "
            f"whether drafts were made; up to {PLAIN} is taken for none, {DRAFTED} and more for drafts: read the "
            "server's own log"
        )
    return check_counts(run._replace(speculating=True, tau=tau, coverage=None, notes=(*notes, DRAFTED_WORDS)))


def _placed(answers: list[Any], source: str) -> list[tuple[Any, str]]:
    """Return requests with their places in the file."""
    return [(value, f"{source}, request {i}") for i, value in enumerate(answers, 1)]


def _request(held: dict[str, Any], place: str) -> Request | None:
    """Return one answer; None where it has one token, or was not streamed."""
    # Its tokens, as the server counted them.
    usage = fields(held.get("output_metrics"), f"{place}: output_metrics").get("text_tokens")
    if usage is None:
        raise ValueError(
            f"{place}: output_metrics.text_tokens is null, so the server reported no usage and each chunk would count "
            "as one token; expected a server that reports usage in its stream"
        )
    tokens = whole(number(str(usage), f"{place}: text_tokens"), f"{place}: text_tokens")
    times = fields(fields(held.get("info"), f"{place}: info").get("timings"), f"{place}: timings")
    chunks = whole(
        number(str(times.get("token_iterations")), f"{place}: token_iterations"), f"{place}: token_iterations"
    )
    gap_ms = held.get("inter_token_latency_ms")
    if tokens < 2 or chunks < 2 or gap_ms is None:
        return None
    # The printed mean is that of the timestamps.
    token_s = number(str(gap_ms), f"{place}: inter_token_latency_ms") / 1e3
    first, last = (
        number(str(times.get(name)), f"{place}: {name}") for name in ("first_token_iteration", "last_token_iteration")
    )
    if abs(token_s * (tokens - 1) - (last - first)) > CLOSE * (last - first):
        raise ValueError(
            f"{place}: inter_token_latency_ms is {1e3 * token_s:.4g}, and its first and last token give "
            f"{1e3 * (last - first) / (tokens - 1):.4g}; they differ"
        )
    return Request(tokens - 1, chunks - 1, token_s)


def _tokens_of_a_chunk(requests: list[Request]) -> Timing:
    """Return the tokens of a chunk after the first, as a ratio of sums over requests, with its error."""
    tokens, chunks = (sum(request[i] for request in requests) for i in (0, 1))
    ratio, n = tokens / chunks, len(requests)
    if n < 2:
        return Timing(ratio, None)
    squares = math.fsum((request.tokens - ratio * request.chunks) ** 2 for request in requests)
    return Timing(ratio, math.sqrt(n / (n - 1) * squares) / chunks)
