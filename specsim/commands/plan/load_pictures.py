"""Pictures of `specsim plan --plot` for a load: the numbers of its tables over the rate, or over the clients."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.commands.plan.loops import Answer as LoopAnswer
from specsim.commands.plan.rates import Answer as RateAnswer
from specsim.report.load_curves import DRAFTS, PLAIN, Curve, Panel
from specsim.speed.load.passes import Percentiles


def over_rates(answer: RateAnswer) -> tuple[Panel, ...]:
    """Return the times of requests over their rate, to the first token and to the last."""
    rates = tuple(line.rate for line in answer.lines)
    panels = []
    for title, kind in (("time to the first token", "ttft_s"), ("time to the last token", "total_s")):
        plain, drafts = (
            [None if way is None else getattr(way, kind) for way in ways]
            for ways in ([line.plain for line in answer.lines], [line.speculative for line in answer.lines])
        )
        if any(times is not None for times in (*plain, *drafts)):
            panels.append(Panel(title, "requests per second", "ms", rates, _curves(plain, drafts)))
    return tuple(panels)


def over_clients(answer: LoopAnswer) -> tuple[Panel, ...]:
    """Return tokens per second of all clients, and the times of whole requests, over the number of clients."""
    points = sorted(answer.points, key=lambda point: point.concurrency)
    clients = tuple(float(point.concurrency) for point in points)
    written = (
        Curve(PLAIN, "", tuple(point.plain_tokens_per_s for point in points)),
        Curve(DRAFTS, "", tuple(point.speculative_tokens_per_s for point in points)),
    )
    times = _curves([point.plain.total_s for point in points], [point.speculative.total_s for point in points])
    return (
        Panel("tokens per second of all clients", "clients", "tokens per second", clients, written),
        Panel("time of a request", "clients", "ms", clients, times),
    )


def _curves(plain: Sequence[Percentiles | None], drafts: Sequence[Percentiles | None]) -> tuple[Curve, ...]:
    """Return mean, median and 99 % quantile of both ways to decode, in ms; None where the load cannot be served."""
    curves = []
    for way, times in ((PLAIN, plain), (DRAFTS, drafts)):
        numbers = [None if time is None else (time.mean, time.p50, time.p99) for time in times]
        for i, name in enumerate(("mean", "P50", "P99")):
            values = tuple(None if number is None else 1e3 * number[i] for number in numbers)
            curves.append(Curve(way, name, values))
    return tuple(curves)
