"""A published row that was measured at a request rate, predicted from its models' names and its tokens per call."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.claims.rows import Row
from specsim.latency import LatencyModel, ModelShape, hardware, roofline
from specsim.latency.drafters import of_target
from specsim.lengths.measures import convert_acceptance
from specsim.speed.load.closed import request_times, stable_rate
from specsim.speed.load.service import service_costs

HEADS = ("eagle", "eagle3", "mtp")
# Devices that tables name less exactly than `hardware` does.
MEANT = {"H100": "h100-sxm"}


def speedup_at_rate(row: Row) -> float | None:
    """Mean time of a request without speculation over that with it, nothing fitted; None for unknown names.

    Costs are the roofline's, with no overhead; every draft is as likely to be kept, so that a block has
    the tau printed.

    Raises
    ------
    ValueError
        A rate that one of the two cannot serve by these costs: the largest stable one is named.

    Examples
    --------
    >>> from specsim.claims.rows import parse
    >>> head = "row_id,source,hardware,target,draft,gamma_or_tree,alpha_or_tau,alpha_or_tau_kind,measured_speedup"
    >>> line = "r-1,A,h100-sxm,llama-3.1-8b,eagle3,3,2.8,tau,1.9,64,4,512,256"
    >>> rows = parse(f"{head},batch,rate,prompt_tokens,output_tokens\\n{line}", "mine.csv")
    >>> round(speedup_at_rate(rows[0]), 2)
    2.42
    """
    if row.load is None or row.levels is None or row.tau is None:
        return None
    times = _times(*row.load.names)
    if times is None:
        return None
    # Both ways to decode, at the same rate.
    alpha = convert_acceptance(row.tau, kind="tau", to="alpha", gamma=row.levels)
    sizes = {"prompt": row.load.prompt, "output": row.load.output, "limit": row.batch}
    plain = service_costs(times, gamma=0, **sizes)
    fast = service_costs(times, alpha, gamma=row.levels, **sizes)
    top = min(stable_rate(plain), stable_rate(fast))
    if row.load.rate >= top:
        raise ValueError(f"row {row.name}: rate is {row.load.rate:g}; the largest stable rate is {top:.4g}")
    return request_times(plain, row.load.rate).total_s / request_times(fast, row.load.rate).total_s


def simplest(rows: Sequence[Row], context: int = 512) -> list[float]:
    """Relative errors of the roofline with one constant a table, taken from its smallest batch, at the other batches.

    Rows whose models or device are unknown, and those that print costs of their own, are left out.
    """
    errors = []
    for machine in dict.fromkeys(row.machine for row in rows):
        # The rows of one machine and pair of models, smallest batch first.
        mine = sorted((row for row in rows if row.machine == machine), key=lambda row: row.batch)
        times = _times(machine[3], machine[4], machine[2])
        if times is None or any(row.draft is not None or row.verify is not None for row in mine):
            continue
        # Speedups per tau by the roofline; the first row gives the constant, tau among other things.
        gains = [
            times.target(1, row.batch, context).value / times.cycle(row.levels or 1, row.batch, context).value
            for row in mine
        ]
        constant = mine[0].speedup / gains[0]
        errors += [constant * gain / row.speedup - 1 for gain, row in zip(gains[1:], mine[1:], strict=True)]
    return errors


def _times(target: str, draft: str, device: str) -> LatencyModel | None:
    """The roofline of these names, as a table prints them; None where one is unknown."""
    head = draft.lower().replace("-", "")
    try:
        large = ModelShape.named(target.removesuffix("-Instruct"))
        small = of_target(large, head) if head in HEADS else ModelShape.named(draft)
        named = device.partition(" (")[0]
        return roofline(large, small, hardware(MEANT.get(named, named)))
    except ValueError:
        return None
