"""A file of pass times, read by the file of this folder that knows its form."""

from __future__ import annotations

import re
from pathlib import Path

from specsim.base.reading import MOST_BYTES, read_text
from specsim.latency.times import batched_bench, llama_bench
from specsim.latency.times.csv_file import read_csv
from specsim.latency.times.record import PassTimes

# The head of llama-bench's table, which rounds times to tokens a second and leaves out the size of micro-batches.
_LLAMA_BENCH_TABLE = re.compile(r"^\|\s*model\s*\|.*\|\s*t/s\s*\|", re.MULTILINE)


def read_pass_times(path: str | Path) -> PassTimes:
    r"""Read the times of passes that were measured, for `from_pass_times`.

    Parameters
    ----------
    path : str or Path
        A CSV with the columns tokens and ms, and where they are known batch and context. Tokens are those of each
        sequence in the pass. Rows of the same place are repeated measurements. Or the output of llama.cpp's
        llama-bench (``-o csv``, ``json`` or ``jsonl``) or llama-batched-bench (its table, or
        ``--output-format jsonl``).

    Returns
    -------
    PassTimes
        All times of each place, in seconds. A batch or a context that the file does not say is in `unknown`. Of the
        benchmarks, a test of few prompt tokens in one micro-batch is a pass over these; its notes say what it leaves
        out.

    Raises
    ------
    ValueError
        A file that cannot be read; a column that is unknown, double or missing; a row that is not whole; tests of
        several models or settings.

    References
    ----------
    llama.cpp, tools/llama-bench and tools/batched-bench, of 2023 to 2026.

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
    # Benchmarks are known by their fields; any other file is a CSV of one's own.
    if batched_bench.knows(text):
        return batched_bench.parse(text, place.name)
    if llama_bench.knows(text):
        return llama_bench.parse(text, place.name)
    if _LLAMA_BENCH_TABLE.search(text):
        raise ValueError(
            f"{place.name} is the table of llama-bench, which has rounded tokens a second and no size of "
            "micro-batches; give the output of llama-bench -o json"
        )
    return read_csv(text, place.name)
