"""What a caller says beside a log, the share of steps with a draft or the length, against what the log says."""

from __future__ import annotations

from specsim.logs.record import DENSE, EngineLog, shown


def check_coverage(run: EngineLog) -> None:
    """ValueError if it is not known in how many steps there was a draft: a plan would take each to have one."""
    if run.coverage is None:
        raise ValueError(
            f"{run.source} does not say in how many steps there was a draft, and a plan takes every step to have one; "
            "give --drafted-share (1 for EAGLE, MTP or a draft model)"
        )


# Two shares of steps that differ by less are the same: files round them.
SAME_SHARE = 0.005


def check_share(share: float, known: float | None, source: str) -> None:
    """ValueError if the share of steps that had a draft is given, and the file has another."""
    if known is None or abs(known - share) <= SAME_SHARE or min(known, share) >= DENSE:
        return
    raise ValueError(
        f"--drafted-share is {share:g}, but {source} says that {known:.3g} of the steps had a draft; leave the option "
        f"out, or give {known:.3g}"
    )


# Half a unit of the last digit of a mean length, and a little.
MEAN_ROUNDING = 0.0051


def unlike_rate(run: EngineLog, length: float | None) -> list[str]:
    """Return the note that a printed rate or mean of acceptance is that of blocks of other lengths, none if it fits."""
    gamma = run.length if run.length is not None else length
    if gamma is not None and run.blocks is None and run.tau is not None and run.accepted and run.drafted:
        # Drafted tokens over the blocks of the printed mean, which has two digits.
        mean = run.drafted * (run.tau.value - 1) / run.accepted
        if run.tau.value > 1 + MEAN_ROUNDING and abs(mean - gamma) > mean * MEAN_ROUNDING / (run.tau.value - 1) + 0.01:
            return [
                f"{run.source}: by the printed mean length a block has {mean:.2f} drafts in the mean, and not "
                f"{shown(gamma)}, by which alpha is computed here"
            ]
    if run.fitting_lengths is None or gamma is None or gamma in run.fitting_lengths:
        return []
    fitting = " or ".join(map(str, run.fitting_lengths)) or "no number of"
    return [
        f"{run.source}: the printed accept rate is that of blocks of {fitting} drafts, and not of {shown(gamma)}, by "
        "which all but tau is computed here"
    ]


def unused_length(run: EngineLog, length: int | None) -> list[str]:
    """Return the note that a length is given to a log which has another in all its blocks, none otherwise."""
    if length is None or run.length is None or length == run.length or run.length != round(run.length):
        return []
    # Where the mean is a whole number by chance, the length is the most drafts of a block.
    if run.drafted is not None and run.blocks and run.drafted != run.blocks * run.length:
        return []
    return [f"{run.source} has {shown(run.length)} drafts in every block: gamma, given as {length}, is not used"]
