"""A file of pass times, read by the file of this folder that knows its form."""

from __future__ import annotations

from pathlib import Path

from specsim.base.reading import MOST_BYTES, read_text
from specsim.latency.times.csv_file import read_csv
from specsim.latency.times.record import PassTimes


def read_pass_times(path: str | Path) -> PassTimes:
    r"""Read the times of passes that were measured, for `from_pass_times`.

    Parameters
    ----------
    path : str or Path
        A CSV with the columns tokens and ms, and where they are known batch and context. Tokens are those of each
        sequence in the pass. Rows of the same place are repeated measurements.

    Returns
    -------
    PassTimes
        All times of each place, in seconds. A batch or a context that the file does not say is in `unknown`.

    Raises
    ------
    ValueError
        A file that cannot be read; a column that is unknown, double or missing; a row that is not whole.

    References
    ----------
    The columns: `docs/results/planning.md`, *Your own times*.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "passes.csv"
    ...     _ = path.write_text("tokens,batch,ms\n1,8,20.0\n1,8,21.0\n5,8,23.0\n")
    ...     times = read_pass_times(path)
    >>> times.seconds[(1, 8, 0)], times.unknown
    ((0.02, 0.021), ('context',))
    """
    place = Path(path)
    try:
        text = read_text(place, MOST_BYTES)
    except OSError as error:
        raise ValueError(f"{place} cannot be read: {error.strerror}") from None
    return read_csv(text, place.name)
