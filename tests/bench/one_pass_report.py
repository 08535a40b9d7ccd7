"""The record of drafters of one pass: tau predicted and measured with intervals, gains, and the verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from real.studies import intervals
from specsim.types import Array

# Chance that some interval of those that hold at once misses.
MISS = 0.01
# Most that the predicted tau may be off in the median, and what training here has to gain.
ERROR, GAIN = 0.03, 1.05
# All drafters of the study.
DRAFTERS = ("heads", "marginals", "corrected")
# Largest difference of numbers that are equal up to rounding.
ROUNDING = 1e-6


def record(about: dict[str, Any], parts: dict[str, Any], runs: Sequence[tuple[float, str, int]]) -> dict[str, Any]:
    """Return the record of all parts: a row for each drafter and run, gains, the ceiling, and runs that are missing."""
    drafters = {name: part for name, part in parts.items() if "rows" in part}
    sampled = sum(row["temperature"] > 0 for part in drafters.values() for row in part["rows"])
    rows = [
        {"drafter": name, **_row(row, 1 - MISS / sampled)} for name, part in drafters.items() for row in part["rows"]
    ]
    made = {name: part["made"] for name, part in drafters.items()}
    found = {"provenance": about, "drafters": made, "rows": rows, "gains": _gains(drafters)}
    found["ceiling"] = _ceiling(parts["ceiling"]["contexts"])
    done = {(row["drafter"], row["temperature"], row["rule"], row["gamma"]) for row in rows}
    missing = [(name, *run) for name in DRAFTERS for run in runs if (name, *run) not in done]
    return found | {"missing": missing, "verdicts": verdicts(found)}


def _ceiling(contexts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what no drafter of one pass exceeds on the mean over contexts, by gamma, from the values of places.

    `tau_of_half`: from half of the continuations, which says how much too high the bounds are.
    """
    whole, half = (np.mean([c[key] for c in contexts], axis=0) for key in ("places", "places_of_half"))
    gammas = range(1, len(whole) + 1)
    # Pairs of places from the last one on, and 1 for a first one that is left (T60.6).
    pairs = [1 + n % 2 + sum(1 + whole[i] for i in range(1 + n % 2, n, 2)) for n in gammas]
    return {
        "contexts": len(contexts),
        "tau": [float(1 + whole[:n].sum()) for n in gammas],
        "tau_of_half": [float(1 + half[:n].sum()) for n in gammas],
        "any_rule": [float(pair) for pair in pairs],
    }


def _row(row: dict[str, Any], level: float) -> dict[str, Any]:
    """Return tau as predicted and as measured, with intervals over prompts; `alike`: were each draft a first draft."""
    tokens, calls, texts, expected, alike = _counts(row)
    measured = intervals.ratio(tokens, calls, most=row["gamma"] + 1)
    predicted = intervals.ratio(texts, expected, most=row["gamma"] + 1)
    difference = intervals.jackknife((tokens, calls, texts, expected), lambda a, b, c, d: a / b - c / d, level=level)
    return {
        **{key: row[key] for key in ("temperature", "rule", "gamma")},
        "predicted": predicted.value,
        "predicted_interval": predicted[1:],
        "measured": measured.value,
        "interval": measured[1:],
        "difference_interval": difference[1:],
        "alike": float(texts.sum() / alike.sum()),
        "tokens": int(tokens.sum()),
    }


def _counts(row: dict[str, Any]) -> list[Array]:
    """Return by prompt tokens and calls of the loop, then tokens, expected calls and `alike` calls of the texts."""
    return [np.array(row[key], float) for key in ("tokens", "calls", "text_tokens", "text_calls", "text_calls_alike")]


def _gains(drafters: dict[str, Any]) -> list[dict[str, Any]]:
    """Return gains in tau: block over tokenwise verification of each drafter, and the correction over none."""
    of = {
        (name, row["temperature"], row["rule"], row["gamma"]): _counts(row)
        for name, part in drafters.items()
        for row in part["rows"]
    }
    pairs = [(key, (key[0], key[1], "tokenwise", key[3]), "block") for key in of if key[2] == "block"]
    pairs += [(key, ("marginals", *key[1:]), "correction") for key in of if key[0] == "corrected" and key[3] > 1]
    pairs = [pair for pair in pairs if pair[1] in of]
    sampled = sum(key[1] > 0 for key, _, _ in pairs)
    return [_gain(kind, key, of[key], of[base], 1 - MISS / sampled) for key, base, kind in pairs]


def _gain(kind: str, key: Any, better: list[Array], base: list[Array], level: float) -> dict[str, Any]:
    """Return the ratio of two taus as predicted and as measured, prompt paired with prompt."""
    sums = (better[0], better[1], base[0], base[1], better[2], better[3], base[2], base[3])
    measured = intervals.jackknife(sums[:4], lambda a, b, c, d: a / b * d / c, level=0.95)
    predicted = intervals.jackknife(sums[4:], lambda a, b, c, d: a / b * d / c, level=0.95)
    both = intervals.jackknife(sums, _ratio_difference, level=level)
    return {
        "gain": kind,
        **dict(zip(("drafter", "temperature", "rule", "gamma"), key, strict=True)),
        "predicted": predicted.value,
        "predicted_interval": predicted[1:],
        "measured": measured.value,
        "interval": measured[1:],
        "difference_interval": both[1:],
    }


def _ratio_difference(a: Array, b: Array, c: Array, d: Array, e: Array, f: Array, g: Array, h: Array) -> Array:
    """Return the measured gain less the predicted one, from sums of tokens and calls."""
    difference: Array = a / b * d / c - e / f * h / g
    return difference


def verdicts(found: dict[str, Any]) -> dict[str, bool | None]:
    """Return whether each criterion of `table_one_pass` is met, by its number; None where nothing was measured."""
    sampled = [row for row in found["rows"] if row["temperature"] > 0]
    greedy = [row for row in found["rows"] if row["temperature"] == 0]
    gains = [gain for gain in found["gains"] if gain["temperature"] > 0]
    at_four = {row["drafter"]: row for row in sampled if (row["rule"], row["gamma"]) == ("tokenwise", 4)}
    off = float(np.median([abs(row["predicted"] / row["measured"] - 1) for row in sampled]))
    both = [at_four.get(name) for name in ("marginals", "heads")]
    ratios = [both[0][key] / both[1][key] for key in ("predicted", "measured")] if both[0] and both[1] else []
    blind = [row for row in sampled if row["drafter"] != "corrected"]
    return {
        "1": all(_holds_0(row) for row in sampled) and off <= ERROR,
        "2": all(abs(row["predicted"] - row["measured"]) <= ROUNDING for row in greedy),
        "3": all(_holds_0(gain) for gain in gains),
        "4": min(ratios) >= GAIN if ratios else None,
        "5": all(row["interval"][0] <= found["ceiling"]["any_rule"][row["gamma"] - 1] for row in blind),
    }


def _holds_0(row: dict[str, Any]) -> bool:
    """Return whether the interval of the difference contains 0; equal numbers have one of a point."""
    low, high = row["difference_interval"]
    return bool(low - ROUNDING <= 0 <= high + ROUNDING)


def table(found: dict[str, Any]) -> str:
    """Return the rows, the gains and the verdicts as text."""
    lines = [f"{'drafter':<11}{'T':>3} {'rule':<10}{'gamma':>6}{'predicted':>10}{'measured':>26}{'alike':>8}"]
    for row in found["rows"]:
        low, high = row["interval"]
        measured = f"{row['measured']:.3f} [{low:.3f}, {high:.3f}]"
        head = f"{row['drafter']:<11}{row['temperature']:>3g} {row['rule']:<10}{row['gamma']:>6}"
        lines.append(f"{head}{row['predicted']:>10.3f}{measured:>26}{row['alike']:>8.3f}")
    for gain in found["gains"]:
        low, high = gain["interval"]
        head = f"{gain['gain']}: {gain['drafter']}, T = {gain['temperature']:g}, {gain['rule']}, gamma {gain['gamma']}"
        lines.append(f"{head}: {gain['predicted']:.3f} predicted, {gain['measured']:.3f} [{low:.3f}, {high:.3f}]")
    lines.append(f"ceiling: {found['ceiling']}")
    words = {True: "met", False: "missed", None: "not measured"}
    lines += [f"criterion {number}: {words[met]}" for number, met in found["verdicts"].items()]
    return "\n".join([*lines, f"not measured yet: {len(found['missing'])} rows"])
