"""The tables of the page on SmolLM2: its drafters, and what other data and sizes gave."""

from __future__ import annotations

from typing import Any

from specsim.report import text


def table(record: dict[str, Any]) -> str:
    """Return the shipped drafters, the best first, with the trials and the machine below."""
    what = record["provenance"]
    heads = ["drafter", "parameters", "steps", "s on the GPU", "T = 1: first draft", "fourth", "T = 0: first", "fourth"]
    drafters = sorted(record["drafters"], key=lambda row: -row["kept"][0])
    rows = [heads, *(_row(row, f"`{row['name']}`") for row in drafters)]
    trials = [heads, *(_row(row, _trial(row)) for row in record["trials"])]
    tokens = record["drafters"][0]["answered_tokens"]
    return (
        f"{text.markdown(rows)}\n\nAll of them learned from {tokens:,} tokens that the target wrote. Trials, with "
        f"other data, rates and sizes:\n\n{text.markdown(trials)}\n\n"
        f"Measured {what['date'][:10]} on one {what['gpu']['name']}, torch {what['versions']['torch']}, transformers "
        f"{what['versions']['transformers']}: `{what['command']}` ({what['note']})."
    )


def _trial(row: dict[str, Any]) -> str:
    """Return in words what a trial changed."""
    name, recipe = row["name"].rpartition("/")[2], row["recipe"]
    if row["trial"].startswith("curve"):
        return f"`{name}` from {row['answered_tokens']:,} tokens"
    return f"`{name}`, width {recipe['width']}" if "width" in recipe else f"`{name}`, rate {recipe['rate']:g}"


def _row(row: dict[str, Any], name: str) -> list[str]:
    shares = (row["kept"][0], row["kept"][-1], row["kept_greedy"][0], row["kept_greedy"][-1])
    steps, seconds = str(row["recipe"]["steps"]), f"{row['seconds']:.0f}"
    return [name, f"{row['parameters']:,}", steps, seconds, *(f"{share:.3f}" for share in shares)]
