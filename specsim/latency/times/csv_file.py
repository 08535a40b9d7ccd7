"""Times of passes in a CSV of one's own: tokens and ms, and where they are known batch and context."""

from __future__ import annotations

import csv

from specsim.base import check
from specsim.base.lists import number_in
from specsim.base.unknown import FOR_READERS
from specsim.latency.times.record import AXES, MOST_TOKENS, UNKNOWN, PassTimes, Place

TIME = "ms"


def read_csv(text: str, source: str) -> PassTimes:
    """Return the passes of a CSV with the columns tokens and ms, and batch, context or both.

    Rows of one place are repeated measurements of it. ValueError for a column that is unknown, double or missing (a
    time in another unit), and for a row that is not whole.
    """
    # The head names the columns, and with ms the unit.
    try:
        lines = list(csv.reader(text.splitlines(), strict=True))
    except csv.Error as error:
        raise ValueError(f"{source} is no CSV: {error}") from None
    names = [name.strip().lower() for name in lines[0]] if lines else []
    _check_names(names, source)

    # Rows, with all times of each place.
    seconds: dict[Place, tuple[float, ...]] = {}
    for number, line in enumerate(lines[1:], 1):
        where = f"{source}, row {number}"
        if len(line) != len(names):
            raise ValueError(f"{where} has {len(line)} fields; the head has {len(names)}")
        row = dict(zip(names, line, strict=True))
        tokens, batch, context = (
            _whole(row[axis], f"{where}: {axis}", least) if axis in row else UNKNOWN[axis]
            for axis, least in AXES.items()
        )
        place = tokens, batch, context
        ms = number_in(row[TIME], f"{where}: {TIME}", "(0, inf)")
        seconds[place] = (*seconds.get(place, ()), ms / 1e3)
    if not seconds:
        raise ValueError(f"{source} has no rows; give one for each pass that was timed")
    unknown = tuple(axis for axis in UNKNOWN if axis not in names)
    return _with_prompts(PassTimes(source, seconds, unknown))


def _with_prompts(times: PassTimes) -> PassTimes:
    """Return the times with long passes of one sequence behind the fewest tokens as prompts, too.

    Where these are no full grid, they are prompts alone.
    """
    points = {(batch, context) for tokens, batch, context in times.seconds if tokens <= MOST_TOKENS}
    least = min((context for _, _, context in times.seconds), default=0)
    prompts = {
        tokens: seconds
        for (tokens, batch, context), seconds in times.seconds.items()
        if tokens > MOST_TOKENS and batch == 1 and context == least
    }
    off_grid = [n for n in prompts if any((n, *point) not in times.seconds for point in points)]
    seconds = {place: held for place, held in times.seconds.items() if place[0] not in off_grid}
    return times._replace(seconds=seconds, prompts=tuple(sorted(prompts.items())))


def _check_names(names: list[str], source: str) -> None:
    """Raise ValueError unless the columns are those that are read, each once."""
    needed = ("tokens", TIME)
    known = (*AXES, TIME, *FOR_READERS)
    is_complete = all(name in names for name in needed)
    if not is_complete or len(set(names)) < len(names) or not set(names) <= set(known):
        raise ValueError(
            f"{source} has columns {', '.join(names) or 'none'}; it needs tokens and ms (times in milliseconds), and "
            "may have batch, context, note and source, each once"
        )


def _whole(text: str, where: str, least: int) -> int:
    """Return the whole number that a text holds; ValueError with its place."""
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"{where} is {text!r}, not a whole number") from None
    return check.integer(value, where, least)
