"""Audits of the shipped acceptance lengths, by the laws that a curve of tau obeys."""

from __future__ import annotations

from typing import NamedTuple

from specsim.latency.tables import grouped
from specsim.lengths.tau_curve import concave_curve, curve_faults

# Standard error of tau - 1, as a part of it, over the 80 prompts that each of these curves rests
# on. Of four public workloads (Llama-3.1-8B with EAGLE, 5 drafts) it is 0.019, 0.024, 0.035 and
# 0.055; this is the middle.
PROMPTS_ERROR = 0.03
# What a curve of tau cannot do, by the words with which `curve_faults` says it.
LAWS = {"falls": "tau falls", "adds more and more": "a draft adds", "leaves [1, gamma + 1]": "tau is"}


class CurveAudit(NamedTuple):
    """A published curve of tau over draft lengths, its faults, and the nearest curve without any.

    explained: True if all faults may be noise of its prompts.
    """

    name: str
    gammas: tuple[int, ...]
    taus: tuple[float, ...]
    faults: tuple[str, ...]
    explained: bool
    nearest: tuple[float, ...]

    def violations(self) -> dict[str, int]:
        """Return how often the curve violates each law, by the law's name."""
        return {law: sum(fault.startswith(words) for fault in self.faults) for law, words in LAWS.items()}


def audited_curves() -> list[CurveAudit]:
    """Return the audit of every shipped curve, in the order of the table."""
    curves: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    for source, rows in grouped("acceptance_lengths", "source").items():
        for row in rows:
            key = (source.rpartition("/")[2], row["mode"])
            curves.setdefault(key, []).append((int(row["gamma"]), float(row["tau"])))
    return [_audited(f"{name}, {mode.replace('_', ' ')}", points) for (name, mode), points in curves.items()]


def audit_lines(audits: list[CurveAudit]) -> list[str]:
    """Return one sentence for each violation, and how many curves have one.

    >>> audit_lines(audited_curves())[0]
    '112 published acceptance lengths, 14 curves: 10 contradict a law of acceptance, 1 of them beyond the noise'
    """
    faulty = [audit for audit in audits if audit.faults]
    beyond = [audit for audit in faulty if not audit.explained]
    points = sum(len(audit.gammas) for audit in audits)
    head = (
        f"{points} published acceptance lengths, {len(audits)} curves: {len(faulty)} contradict a law of acceptance, "
        f"{len(beyond)} of them beyond the noise"
    )
    counts = {law: sum(audit.violations()[law] > 0 for audit in audits) for law in LAWS}
    lines = [head, "curves by what they do: " + ", ".join(f"{law} {count}" for law, count in counts.items())]
    for audit in faulty:
        lines += [f"curve {audit.name}: {fault}" for fault in audit.faults]
        if audit.explained:
            lines.append(f"curve {audit.name}: noise of 80 prompts may explain it")
    return lines


def _audited(name: str, points: list[tuple[int, float]]) -> CurveAudit:
    """Return the audit of one curve."""
    gammas, taus = (tuple(row) for row in zip(*sorted(points), strict=True))
    errors = [PROMPTS_ERROR * (tau - 1) for tau in taus]
    faults = curve_faults(list(gammas), list(taus))
    explained = bool(faults) and not curve_faults(list(gammas), list(taus), errors)
    nearest = tuple(float(tau) for tau in concave_curve(list(gammas), list(taus)))
    return CurveAudit(name, gammas, taus, tuple(faults), explained, nearest)
