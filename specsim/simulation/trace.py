"""Counts of a simulation, the estimates made of them with intervals, and how shards are pooled and stored in files."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.drawing import survival_plot
from specsim.base.files import write_bytes
from specsim.base.intervals import clustered_wilson, ratio_error, student_quantile
from specsim.base.reading import parsed_json
from specsim.base.results import result
from specsim.types import Array

# The end of the name of a setting that holds a hash of source code.
SOURCE = " (SHA-256 of its source)"


@result("tau", "blocks", "hazards")
class Trace(NamedTuple):
    """Counts of simulated blocks. Intervals take sequences, not blocks, as independent.

    ``settings``: what ran, as JSON text; ``sequences`` (n,): their numbers; ``kept`` (n, depth+1): blocks of each
    sequence that kept 0..depth drafts; ``states`` (S, 2) and ``starts`` (S,): states of target and draft, and how many
    blocks started in each; ``tokens`` (n, T): the texts, -1 after their ends, or None; ``seconds``: time that it took.

    >>> import specsim
    >>> trace = specsim.simulate([0.5, 0.5], [0.5, 0.5], rule="tokenwise", gamma=3, blocks=100, sequences=10)
    >>> trace.histogram.tolist(), trace.tau, trace.lengths.sum()
    ([0, 0, 0, 100], 4.0, np.int64(400))
    """

    settings: str
    sequences: Array
    kept: Array
    states: Array
    starts: Array
    tokens: Array | None
    seconds: float

    @property
    def blocks(self) -> int:
        """Target calls."""
        return int(self.kept.sum())

    @property
    def lengths(self) -> Array:
        """Tokens emitted by each sequence, (n,)."""
        return self.kept @ np.arange(1, self.kept.shape[1] + 1)

    @property
    def tau(self) -> float:
        """Tokens per block."""
        return float(self.lengths.sum()) / self.blocks

    @property
    def histogram(self) -> Array:
        """Blocks that kept 0..depth drafts."""
        return self.kept.sum(axis=0)

    @property
    def hazards(self) -> Array:
        """Share of blocks with i or more accepted drafts among those with i - 1 or more, i = 1..depth; NaN for none."""
        reached = self.histogram[::-1].cumsum()[::-1]
        return reached[1:] / np.where(reached[:-1] > 0, reached[:-1], np.nan)

    def tau_interval(self, level: float = 0.99) -> tuple[float, float]:
        """An interval for tau: ratio of sums over sequences, Student's t; infinite for one sequence.

        The level holds for many sequences, and for few whose blocks are so many that their means are normal. It
        measures the spread that was seen: of events too rare to have happened it knows nothing.
        """
        half = student_quantile(level, len(self.kept) - 1) * ratio_error(self.lengths, self.kept.sum(axis=1))
        return self.tau - half, self.tau + half

    def plot(self, axes: Any = None) -> Any:
        """Draw how many blocks keep each draft, with the intervals at 99 %; return matplotlib's Axes (extra `plot`)."""
        return survival_plot(self.hazards, self.hazard_intervals(), axes)

    def hazard_intervals(self, level: float = 0.99) -> Array:
        """Intervals (depth, 2) for the hazards: Wilson's, for as many blocks as would be worth as much if independent.

        Blocks of one sequence share contexts: where its counts spread more between sequences than coin flips do, the
        number of blocks is divided by the ratio of the variances.
        """
        z = student_quantile(level, len(self.kept) - 1)
        reached = self.kept[:, ::-1].cumsum(axis=1)[:, ::-1]
        return np.array(
            [clustered_wilson(reached[:, i + 1], reached[:, i], z) for i in range(reached.shape[1] - 1)]
        ).reshape(-1, 2)


def merge_traces(a: Trace, b: Trace) -> Trace:
    """Pool two shards of one simulation.

    Parameters
    ----------
    a, b : Trace
        Of the same settings, and different sequences.

    Returns
    -------
    Trace
        What one run of all their sequences would have returned; seconds are added.

    Raises
    ------
    ValueError
        The settings differ (names the first that does), or a sequence is in both.

    References
    ----------
    Sums of counts.

    Examples
    --------
    >>> import specsim
    >>> run = dict(rule="block", gamma=2, blocks=1000)
    >>> halves = [specsim.simulate([.5, .5], [.9, .1], sequences=range(i, i + 50), **run) for i in (0, 50)]
    >>> merge_traces(*halves).blocks
    2000
    """
    a, b = check.record(a, "a", Trace), check.record(b, "b", Trace)
    same_settings(a, b.settings, "traces of different settings cannot be pooled")
    both = np.intersect1d(a.sequences, b.sequences)
    if both.size:
        raise ValueError(f"sequence {both[0]} is in both traces")
    sequences, tokens = np.concatenate([a.sequences, b.sequences]), None
    order = np.argsort(sequences)
    if a.tokens is not None and b.tokens is not None:
        tokens = stacked([a.tokens, b.tokens])[order]
    kept = np.concatenate([a.kept, b.kept])[order]
    return a._replace(
        sequences=sequences[order], kept=kept, starts=a.starts + b.starts, tokens=tokens, seconds=a.seconds + b.seconds
    )


def stacked(texts: list[Array]) -> Array:
    """All texts in one array (n, T), padded with -1 to the longest."""
    width = max(t.shape[1] for t in texts)
    return np.concatenate([np.pad(t, ((0, 0), (0, width - t.shape[1])), constant_values=-1) for t in texts])


def same_settings(trace: Trace, settings: str, problem: str) -> None:
    """ValueError naming the first setting that differs."""
    first, second = json.loads(trace.settings), json.loads(settings)
    for name in first | second:
        if first.get(name) != second.get(name):
            raise ValueError(f"{problem}: {name} is {first.get(name)} in one and {second.get(name)} in the other")


def changed_source(trace: Trace, settings: str) -> list[str]:
    """Names of the parts whose source has changed since a trace was made; none if another setting differs, too."""
    recorded, current = json.loads(trace.settings), json.loads(settings)
    names = [name for name in recorded | current if recorded.get(name) != current.get(name)]
    return [name.removesuffix(SOURCE) for name in names] if all(name.endswith(SOURCE) for name in names) else []


def save(trace: Trace, path: Path) -> None:
    """Write a trace as .npz, whole or not at all."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {name: value for name, value in trace._asdict().items() if value is not None}
    np.savez_compressed(buffer, **arrays)
    write_bytes(path, buffer.getvalue())


def load(path: Path) -> Trace:
    """Read a trace; ValueError if the file holds none."""
    try:
        # Open the file here: NumPy leaves it open if it is no complete archive.
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            fields = {name: file[name] for name in file.files}
        # Texts and scalars first; the other fields are arrays of counts.
        settings, seconds, tokens = (
            str(fields.pop("settings")),
            float(fields.pop("seconds")),
            fields.pop("tokens", None),
        )
        if not isinstance(parsed_json(settings, "its settings"), dict):
            raise ValueError("its settings are no object of JSON")
        trace = Trace(settings=settings, seconds=seconds, tokens=tokens, **fields)
        if not len(trace.sequences) == len(trace.kept) == len(trace.kept if tokens is None else tokens):
            raise ValueError("its arrays have different numbers of sequences")
        _check_counts(trace)
        return trace
    except (ValueError, KeyError, TypeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        # NumPy advises to load other objects with pickle, which would run code: hide that advice.
        reason = "it is no archive of arrays" if "allow_pickle" in str(error) else str(error)
        raise ValueError(f"checkpoint {path} holds no trace ({reason})") from None


def _check_counts(trace: Trace) -> None:
    """ValueError unless the arrays of a trace are counts that belong together."""
    sizes = {"sequences": 1, "kept": 2, "starts": 1}
    for name, dimensions in sizes.items():
        values = np.asarray(getattr(trace, name))
        if values.ndim != dimensions or values.dtype.kind not in "iu" or (values < 0).any():
            raise ValueError(f"its {name} are no whole numbers from 0 on in {dimensions} dimensions")
    if len(np.unique(trace.sequences)) < len(trace.sequences):
        raise ValueError("it holds a sequence twice")
    if np.shape(trace.states) != (len(trace.starts), 2):
        raise ValueError("its states and starts have different numbers of contexts")
    if trace.states.dtype.kind not in "iu" or (trace.states < 0).any():
        raise ValueError("its states are no whole numbers from 0 on")
    if int(trace.kept.sum()) != int(trace.starts.sum()):
        raise ValueError(f"{trace.kept.sum()} blocks kept something, {trace.starts.sum()} were started")
    if not 0 <= trace.seconds < np.inf:
        raise ValueError(f"its seconds are {trace.seconds}")
