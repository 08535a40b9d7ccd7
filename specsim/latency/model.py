"""One interface for time: a target pass over m tokens, a draft step, and the rest of a cycle.

A model is a record of functions, so that a measured curve, a roofline and a textbook assumption are used alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from specsim.base import check, limits


class Timing(NamedTuple):
    """A time and its standard error; the error is None where it is not known, as for a prediction.

    Examples
    --------
    >>> total(Timing(2.0, 0.3), Timing(1.0, 0.4))
    Timing(value=3.0, error=0.5)
    """

    value: float
    error: float | None = None


class LatencyModel(NamedTuple):
    """The times of a cycle: target(tokens, batch, context), draft(batch, context) and overhead(batch, context).

    `target` is a pass over that many tokens of every sequence; target(1, ...) is one plain decoding step. Times are in
    `unit`: "s", or "target steps" where only ratios are known. `assumptions` are sentences on what the times take for
    granted. Where single times have no errors, `cycle_error(tokens)` is the relative standard error of a cycle over a
    plain step, by the tokens of all sequences in its target pass; None beyond those that were checked.

    How drafts are made: `one_pass` says that one draft step makes a whole block, however long it is. `prepared(gamma)`
    is the probability that a block of that length was drafted during the target pass before it (None: drafting begins
    after that pass). `longest` is the most drafts that the drafter makes in a block, None where there is no limit.

    Examples
    --------
    >>> constant(0.05).cycle(4).value  # 4 drafts at 0.05 target steps, and a pass that costs one
    1.2
    """

    target: Callable[[int, int, int], Timing]
    draft: Callable[[int, int], Timing]
    overhead: Callable[[int, int], Timing]
    unit: str
    assumptions: tuple[str, ...]
    cycle_error: Callable[[int], float | None] | None = None
    one_pass: bool = False
    prepared: Callable[[int], float] | None = None
    longest: int | None = None

    def parts(self, gamma: int, batch: int = 1, context: int = 0) -> tuple[Timing, Timing, Timing]:
        """Return the times of drafting, of the target pass over gamma + 1 tokens, and of the overhead.

        gamma = 0 is one plain step alone.
        """
        gamma = check.integer(gamma, "gamma", 0, limits.MAX_GAMMA)
        batch, context = check.integer(batch, "batch", 1), check.integer(context, "context", 0)
        if gamma == 0:
            return Timing(0.0, 0.0), self.target(1, batch, context), Timing(0.0, 0.0)
        verify = self.target(gamma + 1, batch, context)
        return self.drafting(gamma, batch, context, verify), verify, self.overhead(batch, context)

    def drafting(self, gamma: int, batch: int, context: int, verify: Timing) -> Timing:
        """Return the time that drafting gamma tokens adds to a cycle with the target pass `verify`.

        With prepared drafts that is the drafting of blocks that were not prepared, and the part of the preparation that
        takes longer than the pass.
        """
        # The draft steps of a block.
        if self.longest is not None and gamma > self.longest:
            raise ValueError(f"gamma is {gamma}; this drafter makes {self.longest} drafts a block at most")
        step = self.draft(batch, context)
        steps: float = 1 if self.one_pass else gamma
        if self.prepared is not None:
            missed = 1 - float(check.scalar(self.prepared(gamma), f"prepared({gamma})", "[0, 1]"))
            longer = max(steps * step.value - verify.value, 0.0)
            added = missed * steps * step.value + longer
            # A preparation that outlasts the pass counts with the error of all its steps, though
            # the pass hides some of them: the error is rather too wide.
            num_preparations = 1 if longer > 0 else 0
            steps = steps * (missed + num_preparations)
            return Timing(added, None if step.error is None else steps * step.error)
        return Timing(steps * step.value, None if step.error is None else steps * step.error)

    def error(self, tokens: int) -> float | None:
        """Return `cycle_error` at a number of tokens; None where no error is known."""
        return None if self.cycle_error is None else self.cycle_error(tokens)

    def cycle(self, gamma: int, batch: int = 1, context: int = 0) -> Timing:
        """Return the time of a whole cycle, the sum of `parts`."""
        return total(*self.parts(gamma, batch, context))


def total(*parts: Timing) -> Timing:
    """Return the sum of times with independent errors; if one error is unknown, so is that of the sum."""
    errors = [part.error for part in parts]
    error = None if None in errors else sum(e * e for e in errors if e is not None) ** 0.5
    return Timing(sum(part.value for part in parts), error)


def in_one_pass(latency: LatencyModel) -> LatencyModel:
    r"""Return the latency model of a drafter that makes a whole block in one pass, with the same times.

    .. math:: T_c(\gamma) = T_D + T_V(\gamma + 1) + T_o, \qquad \gamma \ge 1

    Such drafters are block diffusion (DFlash, DSpark), masks that are filled at once (PARD), and heads beside each
    other. The time of `draft` is that of the pass. That the pass costs the same whatever it fills is an assumption:
    measure it at the longest block that is to be drafted.

    Parameters
    ----------
    latency : LatencyModel
        What passes and steps cost.

    Returns
    -------
    LatencyModel
        With `one_pass`, and that assumption.

    Raises
    ------
    TypeError
        latency is no LatencyModel.

    References
    ----------
    An et al. 2025, PARD, arXiv:2504.18583 (drafts of masks in one pass).

    Examples
    --------
    >>> [round(in_one_pass(constant(0.1)).cycle(gamma).value, 2) for gamma in (0, 1, 8)]
    [1.0, 1.1, 1.1]
    """
    words = "one pass drafts a whole block, and takes as long however many tokens it makes"
    check.record(latency, "latency", LatencyModel)
    return latency._replace(one_pass=True, assumptions=(*latency.assumptions, words))


def constant(cost_ratio: float, *, verify_cost: Sequence[float] | None = None, overhead: float = 0) -> LatencyModel:
    r"""Return the textbook model: a draft step costs c target steps, whatever the batch and the context.

    .. math:: T_D = c, \qquad T_V(m) = t(m), \qquad T_o = o

    Parameters
    ----------
    cost_ratio : float
        c, a draft step over a target step.
    verify_cost : sequence of float, optional
        t(1), t(2), ..., in target steps; t(1) = 1. None: a pass costs one step, however many tokens it has.
    overhead : float
        o, everything else per cycle, in target steps.

    Returns
    -------
    LatencyModel
        In target steps. Exact given its numbers; that they hold is an assumption.

    Raises
    ------
    ValueError
        A negative or infinite number, t(1) other than 1, or, when asked, a pass longer than the curve.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, theorem 3.8 (t = 1, o = 0).

    Examples
    --------
    >>> constant(0.1, verify_cost=[1, 1.1, 1.3]).cycle(2).value
    1.5
    """
    # t(m), checked, or none.
    c = float(check.scalar(cost_ratio, "cost_ratio", "[0, inf)"))
    o = float(check.scalar(overhead, "overhead", "[0, inf)"))
    if verify_cost is None:
        curve, words = None, "a target pass costs one step however many tokens it verifies"
    else:
        curve = [float(check.scalar(v, f"verify_cost[{i}]", "(0, inf)")) for i, v in enumerate(verify_cost)]
        words = "the given t(m)"
        if not curve or curve[0] != 1:
            raise ValueError(f"verify_cost[0] is {curve[0] if curve else 'missing'}; t(1) is one target step, 1")

    def target(tokens: int, batch: int, context: int) -> Timing:
        """t(m), which is known without an error."""
        if curve is not None and tokens > len(curve):
            raise ValueError(f"verify_cost has {len(curve)} entries; t({tokens}) is needed")
        return Timing(1.0 if curve is None else curve[tokens - 1], 0.0)

    return LatencyModel(
        target,
        lambda batch, context: Timing(c, 0.0),
        lambda batch, context: Timing(o, 0.0),
        "target steps",
        (words, "costs are as declared, their error in no interval", "costs do not depend on batch and context"),
    )


def memory_bound(target_weights: float, draft_weights: float, *, bandwidth: float | None = None) -> LatencyModel:
    r"""Pure weight traffic: every pass reads its model's weights once, and nothing else takes time.

    .. math:: \text{MBSU} = \frac{\tau}{\gamma c + 1}, \qquad c = \frac{\text{draft weights}}{\text{target weights}}

    An upper bound in practice: small drafts reach a smaller share of the bandwidth than large targets.

    Parameters
    ----------
    target_weights, draft_weights : float
        Parameters or bytes, one unit for both; bytes if a bandwidth is given.
    bandwidth : float, optional
        Bytes per second; without it times are in target steps.

    Returns
    -------
    LatencyModel
        A prediction with no interval.

    Raises
    ------
    ValueError
        A number that is not positive.

    References
    ----------
    Goel et al. 2024, arXiv:2403.00858 (memory-bound speedup).

    Examples
    --------
    >>> round(3.5 / memory_bound(1.0, 0.02).cycle(5).value, 2)  # tau = 3.5, gamma = 5
    3.18
    """
    large = float(check.scalar(target_weights, "target_weights", "(0, inf)"))
    small = float(check.scalar(draft_weights, "draft_weights", "[0, inf)"))
    speed = large if bandwidth is None else float(check.scalar(bandwidth, "bandwidth", "(0, inf)"))
    return LatencyModel(
        lambda tokens, batch, context: Timing(large / speed),
        lambda batch, context: Timing(small / speed),
        lambda batch, context: Timing(0.0),
        "target steps" if bandwidth is None else "s",
        ("time is weight traffic alone: no caches, no arithmetic, no launches, no host",),
    )
