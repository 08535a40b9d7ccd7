"""Options of `specsim-real compare` that are for chains alone, or for trees alone."""

from __future__ import annotations


def check_options(tree: list[str] | None, **options: str) -> None:
    """Refuse an option of chains beside trees, or of trees without one.

    "" is an option not given.
    """
    refused, remedy = ["scheme", "chains", "step", "draws"], "is for trees: give --tree, too"
    if tree:
        if options["param"]:
            raise ValueError(f"param {options['param']!r} is for rules of chains: those of trees run as they are")
        refused = ["gamma", "calibrate"]
        remedy = "is for chains alone: with --tree give --chains, and every pass is timed"
    for name in refused:
        if options[name]:
            raise ValueError(f"{name} {options[name]!r} {remedy}")


def whole_draws(draws: str) -> int:
    """Return the number of different siblings expected, from its option."""
    try:
        return int(draws)
    except ValueError:
        raise ValueError(f"draws {draws!r} is no whole number: give the different siblings expected, as 2") from None
