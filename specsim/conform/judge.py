"""Every property of a subject, one after the other, within a budget."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.conform.subject import Subject
from specsim.conform.verdict import Report


def judge(
    subject: Subject,
    *,
    budget: float = 60.0,
    properties: Sequence[str] | None = None,
    false_alarm: float = 1e-6,
    seed: int = 0,
) -> Report:
    """Judge a subject: a verdict for every property, whatever it does.

    Parameters
    ----------
    subject : Subject
        What is judged.
    budget : float
        Seconds, positive; kept within 20 %.
    properties : sequence of str, optional
        Names of the files in `specsim.conform.properties`; all that concern the kind of subject if not given.
    false_alarm : float
        Probability that a correct subject is convicted of anything in this report.
    seed : int
        Of Monte Carlo.

    Returns
    -------
    Report
        One verdict a property.

    Raises
    ------
    ValueError
        An argument is out of range, or a property is unknown.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192 (what lossless means).
    """
    raise NotImplementedError
