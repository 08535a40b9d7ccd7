r"""Is a confidence head right about its drafts? Brier score, reliability and resolution, of drafts and of survivals.

Score.       Brier = mean (c - a)^2 of confidences c and outcomes a, 0 or 1.
Parts.       With bins of confidences, n_k drafts of mean confidence c_k of which a share a_k was kept:
             Brier = reliability - resolution + uncertainty + within,
             reliability = sum n_k (c_k - a_k)^2 / n, resolution = sum n_k (a_k - a)^2 / n,
             uncertainty = a (1 - a), within = what confidences differ by inside their bins.
Seen.        A draft's own confidence is tested where all drafts before it were kept. The product of
             confidences up to a draft is tested by every draft that was verified: it is what a
             budget ranks by (T61), and can be wrong where single confidences look right.
Paper.       Brier 1950; Murphy 1973 (the parts); Cheng et al., DSpark, arXiv:2607.05147 (the head).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.reading import MOST_BYTES, parsed_json, read_text
from specsim.base.results import result
from specsim.base.unknown import check_names
from specsim.types import Array

MAX_BINS = 1000


class Bin(NamedTuple):
    """Confidences from `low` to `high`: how many were tested, their mean, and the share of the drafts that was kept."""

    low: float
    high: float
    tested: int
    confidence: float
    kept: float


@result("brier", "reliability", rows=lambda found: found.bins)
class Calibration(NamedTuple):
    """How far stated probabilities are from what happens.

    tested: how many outcomes. brier: mean squared error, reliability - resolution + uncertainty + within. reliability:
    the part that is due to miscalibration, 0 where each bin keeps what it states. resolution: how much bins differ in
    what they keep. uncertainty: the score of the mean share, stated always. within: what confidences differ by inside
    bins. error: mean absolute difference of bins, the expected calibration error. bins: the reliability diagram,
    without empty bins.

    Examples
    --------
    >>> found = confidence_calibration([[0.75], [0.75], [0.75], [0.75]], [1, 1, 1, 0]).drafts
    >>> found.reliability, found.brier
    (0.0, 0.1875)
    """

    tested: int
    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float
    error: float
    bins: tuple[Bin, ...]


class ConfidenceCalibration(NamedTuple):
    """Calibration of a confidence head: of single drafts, tested after kept ones, and of survivals, their products.

    Examples
    --------
    >>> found = confidence_calibration([[0.5, 0.5], [0.5, 0.5]], [0, 2])
    >>> found.drafts.tested, found.survival.tested
    (3, 4)
    """

    drafts: Calibration
    survival: Calibration


@result("blocks")
class ConfidenceLog(NamedTuple):
    """Blocks of a log: the confidences of the drafts that were verified, and how many of them were accepted.

    Examples
    --------
    >>> ConfidenceLog(((0.9, 0.5),), (1,)).blocks
    1
    """

    confidences: tuple[tuple[float, ...], ...]
    accepted: tuple[int, ...]

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return len(self.accepted)


def confidence_calibration(
    confidences: Sequence[Sequence[float]], accepted: Sequence[int], *, bins: int = 10
) -> ConfidenceCalibration:
    r"""Calibration of a confidence head from blocks of a log.

    .. math:: \text{Brier} = \sum_k \tfrac{n_k}{n} (\bar c_k - \bar a_k)^2 - \sum_k \tfrac{n_k}{n} (\bar a_k - \bar a)^2
              + \bar a (1 - \bar a) + \text{within}

    Parameters
    ----------
    confidences : sequence of sequences of float
        For each block the confidences of the drafts that were verified, each the probability that the draft is kept if
        all before it are. Blocks may have different lengths.
    accepted : sequence of int
        Drafts of each block that were accepted.
    bins : int
        Bins of equal width on [0, 1].

    Returns
    -------
    ConfidenceCalibration
        drafts and survival, a `Calibration` each.

    Raises
    ------
    ValueError
        No block has a draft, a confidence is outside [0, 1], or more drafts were accepted than verified.

    References
    ----------
    Cheng et al. 2026, DSpark, arXiv:2607.05147 (the head); Murphy 1973 (the parts of the score).

    Examples
    --------
    >>> found = confidence_calibration([[0.9, 0.9]] * 4, [2, 2, 1, 0])
    >>> round(found.drafts.bins[0].kept, 3), round(found.survival.reliability, 4)
    (0.714, 0.0593)
    """
    bins = check.integer(bins, "bins", 1, MAX_BINS)
    for name, value in (("confidences", confidences), ("accepted", accepted)):
        if not hasattr(value, "__len__"):
            raise TypeError(f"{name} must be a sequence with an entry for each block, got {check.shown(value)}")
    if len(confidences) != len(accepted):
        raise ValueError(f"{len(confidences)} rows of confidences and {len(accepted)} counts; give both for each block")

    # Outcomes of each draft that was tested, and of the product up to each draft that was verified.
    stated: list[Array] = []
    outcomes: list[Array] = []
    products: list[Array] = []
    survived: list[Array] = []
    for block, (row, count) in enumerate(zip(confidences, accepted, strict=True)):
        c = np.asarray(check.real_values(row, f"confidences[{block}]", 0, 1), dtype=np.float64)
        if c.ndim != 1:
            raise ValueError(f"confidences[{block}] has shape {c.shape}; give one row for each block")
        kept = check.integer(count, f"accepted[{block}]", 0)
        if kept > len(c):
            raise ValueError(f"accepted[{block}] is {kept} of {len(c)} drafts; more were accepted than verified")
        survives = np.arange(len(c)) < kept
        stated.append(c[: kept + 1])
        outcomes.append(survives[: kept + 1])
        products.append(np.cumprod(c))
        survived.append(survives)
    if not sum(map(len, stated)):
        raise ValueError("no block has a draft; a calibration needs outcomes")
    return ConfidenceCalibration(
        _calibration(np.concatenate(stated), np.concatenate(outcomes), bins),
        _calibration(np.concatenate(products), np.concatenate(survived), bins),
    )


def read_confidences(path: str | Path) -> ConfidenceLog:
    """Read blocks with confidences from lines of JSON, {"confidences": [0.9, 0.6], "accepted": 1}.

    Parameters
    ----------
    path : str or Path
        One block a line: the confidences of the drafts that were verified, and how many of them were accepted.

    Returns
    -------
    ConfidenceLog
        confidences and accepted, as `confidence_calibration` takes them.

    Raises
    ------
    ValueError
        A file that cannot be read, or a line that is no such block (names the line).

    References
    ----------
    Cheng et al. 2026, DSpark, arXiv:2607.05147 (what such a log is of).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "blocks.jsonl"
    ...     _ = path.write_text(json.dumps({"confidences": [0.9, 0.6], "accepted": 1}))
    ...     log = read_confidences(path)
    >>> log.confidences, log.accepted
    (((0.9, 0.6),), (1,))
    """
    place = Path(path)
    try:
        text = read_text(place, MOST_BYTES)
    except OSError as error:
        raise ValueError(f"{place} cannot be read: {error.strerror}") from None
    rows, counts = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            where = f"{place.name}, line {number}"
            row, count = _block(parsed_json(line, where), where)
            rows.append(row)
            counts.append(count)
    if not rows:
        raise ValueError(f"{place.name} has no blocks")
    return ConfidenceLog(tuple(rows), tuple(counts))


def _block(content: Any, where: str) -> tuple[tuple[float, ...], int]:
    """Return confidences and accepted drafts of one block; `where` names its line in errors."""
    if not isinstance(content, dict) or not {"confidences", "accepted"} <= set(content):
        raise ValueError(f'{where} is no block; write {{"confidences": [0.9, 0.6], "accepted": 1}}')
    check_names(content, ("confidences", "accepted"), where, "field")
    row, count = content["confidences"], content["accepted"]
    if not isinstance(row, list):
        raise ValueError(f"{where}: confidences is {json.dumps(row)}, not a list of numbers")
    c = check.real_values(row, f"{where}: confidences", 0, 1) if row else np.array([])
    kept = check.integer(count, f"{where}: accepted", 0)
    if kept > len(row):
        raise ValueError(f"{where}: accepted is {kept} of {len(row)} drafts; more were accepted than verified")
    return tuple(float(value) for value in c), kept


def _calibration(stated: Array, outcomes: Array, bins: int) -> Calibration:
    """Return the calibration of stated probabilities (n,) by outcomes (n,)."""
    count, a = len(stated), outcomes.astype(np.float64)
    place = np.minimum((stated * bins).astype(np.int64), bins - 1)
    sizes = np.bincount(place, minlength=bins)
    used = np.flatnonzero(sizes)
    means = np.bincount(place, weights=stated, minlength=bins)[used] / sizes[used]
    shares = np.bincount(place, weights=a, minlength=bins)[used] / sizes[used]
    weights, share = sizes[used] / count, float(a.mean())

    # The parts of the score; inside a bin, confidences and outcomes differ from their means.
    index = np.searchsorted(used, place)
    spread = stated - means[index]
    within = float((spread**2 - 2 * spread * (a - shares[index])).mean())
    return Calibration(
        count,
        float(((stated - a) ** 2).mean()),
        float((weights * (means - shares) ** 2).sum()),
        float((weights * (shares - share) ** 2).sum()),
        share * (1 - share),
        within,
        float((weights * abs(means - shares)).sum()),
        tuple(
            Bin(int(k) / bins, (int(k) + 1) / bins, int(sizes[k]), float(mean), float(kept))
            for k, mean, kept in zip(used, means, shares, strict=True)
        ),
    )
