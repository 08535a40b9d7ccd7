"""Options of `specsim-real compare` that are for chains alone, or for trees alone."""

from __future__ import annotations


def check_options(tree: list[str] | None, **given: str) -> None:
    """ValueError for an option of chains beside trees, or of trees without one."""
    wrong, remedy = ["scheme", "chains", "step", "draws"], "is for trees: give --tree, too"
    if tree:
        if given["param"]:
            raise ValueError(f"param {given['param']!r} is for rules of chains: those of trees run as they are")
        wrong = ["gamma", "calibrate"]
        remedy = "is for chains alone: with --tree give --chains, and every pass is timed"
    for name in wrong:
        if given[name]:
            raise ValueError(f"{name} {given[name]!r} {remedy}")


def whole_draws(draws: str) -> int:
    """The number of different siblings expected, from its option."""
    try:
        return int(draws)
    except ValueError:
        raise ValueError(f"draws {draws!r} is no whole number: give the different siblings expected, as 2") from None
