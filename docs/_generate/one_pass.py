"""The tables of drafters of one pass on SmolLM2, from the record of `tests/bench/table_one_pass.py`."""

from __future__ import annotations

from statistics import median
from typing import Any

from specsim.report.text import markdown

# What the drafters of the record are called on the page.
NAMES = {"heads": "`smollm2/heads`", "marginals": "trained here", "corrected": "trained here, corrected"}
CRITERIA = {
    "1": "at temperature 1 predicted and measured tau agree",
    "2": "greedy, they are equal",
    "3": "measured gains of block verification and of the correction agree with the predicted ones",
    "4": "the head trained here has at least 1.05 times the tau of the shipped one",
    "5": "no drafter exceeds the ceiling",
}
VERDICTS = {True: "met", False: "**missed**", None: "not measured"}


def table(record: dict[str, Any]) -> str:
    """Return tau of every drafter, predicted beside measured; gains; the ceiling; and the verdicts."""
    rows = {(row["drafter"], row["temperature"], row["gamma"], row["rule"]): row for row in record["rows"]}
    head = ["drafter", "T", "gamma", "tau predicted", "tau measured", "were each draft a first one"]
    lines = [[*head, "block verification predicted", "measured"]]
    for (name, temperature, gamma, rule), row in rows.items():
        if rule != "tokenwise":
            continue
        block = rows.get((name, temperature, gamma, "block"))
        cells = [NAMES[name], f"{temperature:g}", str(gamma), f"{row['predicted']:.3f}", _measured(row)]
        cells += [f"{row['alike']:.3f}", *([f"{block['predicted']:.3f}", _measured(block)] if block else ["", ""])]
        lines.append(cells)

    gains = [["what", "drafter", "T", "rule", "gamma", "gain predicted", "gain measured"]]
    gains += [
        [
            {"block": "block verification", "correction": "the correction"}[gain["gain"]],
            NAMES[gain["drafter"]],
            f"{gain['temperature']:g}",
            gain["rule"],
            str(gain["gamma"]),
            f"{gain['predicted'] - 1:+.1%}",
            f"{gain['measured'] - 1:+.1%} [{gain['interval'][0] - 1:+.1%}, {gain['interval'][1] - 1:+.1%}]",
        ]
        for gain in record["gains"]
    ]
    verdicts = "; ".join(f"{CRITERIA[n]}: {VERDICTS[met]}" for n, met in record["verdicts"].items())
    off = median(abs(row["predicted"] / row["measured"] - 1) for row in record["rows"] if row["temperature"] > 0)
    missing = f" Not measured yet: {len(record['missing'])} rows." if record["missing"] else ""
    return (
        f"{markdown(lines)}\n\n{markdown(gains)}\n\n{_ceiling(record['ceiling'])}\n\n{_made(record)}\n\n"
        f"Fixed before the run: {verdicts}. At temperature 1 the predicted tau is off by {off:.1%} in the median; the "
        f"goal was 3 %.{missing}"
    )


def _measured(row: dict[str, Any]) -> str:
    """Return the measured tau with its interval."""
    low, high = row["interval"]
    return f"{row['measured']:.3f} [{low:.3f}, {high:.3f}]"


def _ceiling(found: dict[str, Any]) -> str:
    """Return the ceiling in words."""
    tau, half, any_rule = (", ".join(f"{x:.2f}" for x in found[key]) for key in ("tau", "tau_of_half", "any_rule"))
    return (
        f"The ceiling of every drafter of one pass at temperature 1, for 1 to {len(found['tau'])} drafts: {tau} tokens "
        f"with tokenwise verification ({half} from half of the continuations), {any_rule} with any lossless rule. It "
        f"is the mean over {found['contexts']} contexts along the texts."
    )


def _made(record: dict[str, Any]) -> str:
    """Return how the drafters were trained, and what the record was made with."""
    made, about = record["drafters"].get("marginals", {}), record["provenance"]
    training = (
        f"Trained on {made['answered_tokens']:,} tokens that the target wrote, {made['parameters']:,} weights, "
        f"{made['recipe']['steps']} steps on one core. "
        if "answered_tokens" in made
        else ""
    )
    return (
        f"{training}{about['prompts']} prompts of the test split, {about['max_tokens']} tokens each; intervals of 95 % "
        f"over prompts. Measured {about['date'][:10]}: `{about['command']}`."
    )
