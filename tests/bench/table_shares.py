"""Shares of the interval of tau on SmolLM2: `python tests/bench/table_shares.py > tests/bench/shares.txt`.

The target writes a text after each chat prompt of the test split, at temperature 1, and each is scored once. Given a
text, the loop's blocks follow the renewal law of block starts, so that the variance of tau splits into two shares,
without running the loop: texts differ, and given the text its acceptance tests fall one way or another (coins).

Beside it stands an estimate that needs fewer runs of the loop: calls per token predicted on all texts, also on those
that no loop wrote, plus measured less predicted calls on those that it wrote. It is unbiased even where the prediction
is wrong. Times play no part; the processor time is that of 42 texts, about a minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
import torch
import typer
from scipy import stats

from real import load
from real.decode.blocks import Score, predict_blocks
from real.models.names import BEST_DRAFT, SMOLLM2
from real.prompts import shipped_prompts
from specsim.types import Array
from specsim.verify.chain import tokenwise

GAMMAS, RUNS, RESAMPLES = (1, 3, 7), 400, 4_000
# Texts that are scored beside the 42 that the loop writes.
MORE = (0, 42, 126, 210)


class Calls(NamedTuple):
    """Target calls of each text: tokens (n,), expected calls (n,), and simulated calls (n, RUNS)."""

    tokens: Array
    expected: Array
    simulated: Array


def texts(count: int, max_tokens: int) -> list[Score]:
    """Return the scores of one text of the target after each prompt."""
    pair = load(SMOLLM2, BEST_DRAFT)
    prompts = [prompt.text for prompt in shipped_prompts("chat", "test")[:count]]
    runs = pair.generate(prompts, chat=True, gamma=0, max_tokens=max_tokens, seed=11)
    return [pair.score(run.tokens, prompt=prompt, chat=True) for prompt, run in zip(prompts, runs, strict=True)]


def calls(scores: Sequence[Score], gamma: int, rng: np.random.Generator) -> Calls:
    """Return what the loop does on each text: expected by the renewal law, and simulated."""
    expected = [float(predict_blocks(score, gamma, tokenwise).blocks) for score in scores]
    simulated = [[blocks_of(rng.random(len(s.p)) < s.ratio, gamma) for _ in range(RUNS)] for s in scores]
    return Calls(np.array([len(score.p) for score in scores]), np.array(expected), np.array(simulated, dtype=float))


def blocks_of(accepted: Array, gamma: int) -> int:
    """Return how many blocks write a text whose draft at each position is accepted, or is not."""
    place = blocks = 0
    while place < len(accepted):
        run = accepted[place : place + gamma]
        place += (len(run) if run.all() else int(np.argmin(run))) + 1
        blocks += 1
    return blocks


def half_widths(found: Calls) -> tuple[float, float, float]:
    """Return the relative 95 % half-widths of tau: in all, of texts alone, of coins alone."""
    tokens, expected, simulated = found
    n, tau = len(tokens), tokens.sum() / expected.sum()
    of_texts = n / (n - 1) * np.sum((tokens - tau * expected) ** 2) / tokens.sum() ** 2
    of_coins = simulated.var(axis=1, ddof=1).sum() / expected.sum() ** 2
    quantile = stats.t.ppf(0.975, n - 1)
    return tuple(float(quantile * np.sqrt(v)) for v in (of_texts + of_coins, of_texts, of_coins))  # type: ignore[return-value]


def with_more(found: Calls, more: int, rng: np.random.Generator) -> float:
    """Return the relative 95 % half-width of tau with `more` texts that are scored and not written by the loop."""
    tokens, expected, simulated = found
    n = len(tokens)
    taus = np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        mine, others = rng.integers(0, n, n), rng.integers(0, n, more)
        measured = simulated[mine, rng.integers(0, RUNS, n)].sum()
        both = np.concatenate([mine, others])
        rate = expected[both].sum() / tokens[both].sum() + (measured - expected[mine].sum()) / tokens[mine].sum()
        taus[i] = 1 / rate
    return float(1.96 * taus.std() / (tokens.sum() / expected.sum()))


def table(scores: Sequence[Score]) -> list[str]:
    """Return the lines of the table."""
    rng = np.random.default_rng(0)
    heads = ["gamma", "tau", "in all", "texts", "coins", "prompts for 3 %", *(f"{more} more scored" for more in MORE)]
    lines = ["  ".join(f"{head:>15}" for head in heads)]
    for gamma in GAMMAS:
        found = calls(scores, gamma, rng)
        total, of_texts, of_coins = half_widths(found)
        needed = int(np.ceil(len(scores) * (total / 0.03) ** 2))
        widths = [f"{with_more(found, more, rng):.1%}" for more in MORE]
        tau = f"{found.tokens.sum() / found.expected.sum():.3f}"
        cells = [str(gamma), tau, f"{total:.1%}", f"{of_texts:.1%}", f"{of_coins:.1%}", str(needed), *widths]
        lines.append("  ".join(f"{cell:>15}" for cell in cells))
    return lines


def main(
    count: Annotated[int, typer.Option("--prompts", min=2, help="Prompts of the test split.")] = 42,
    max_tokens: Annotated[int, typer.Option(min=2, help="Tokens of a text.")] = 64,
) -> None:
    """Print the table."""
    torch.set_num_threads(1)
    scores = texts(count, max_tokens)
    print(f"half of the 95 % interval of tau over {count} texts of SmolLM2, {sum(len(s.p) for s in scores)} tokens")
    print(*table(scores), sep="\n")


if __name__ == "__main__":
    typer.run(main)
