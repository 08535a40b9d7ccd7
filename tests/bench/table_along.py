"""Does the loop keep what `along` predicts? `python tests/bench/table_along.py > along.txt`, 15 minutes of one core.

Every drafter that is shipped for SmolLM2, and n-grams, at 1 to 6 drafts a block (the heads make 4 at most) and at
temperatures 1 and 0, on prompts of the test split in one batch. The prediction is made before the loop drafts anything:
the target writes a text after each prompt by plain decoding, `along` gives the drafter's probabilities in one
teacher-forced pass over it, and the renewal law of block starts makes expected target calls of them, for every length.
Then the loop writes with the drafter, with random numbers that depend on the drafter, and its target calls are counted.
The loop of a drafter reads the prompts once, and goes back to their ends for each length.
Each row is kept in `runs/along`, so that a run that was stopped goes on.

Fixed before the first run (2026-11-27):

1. Tokens per target call, measured minus predicted: the intervals of all rows hold 0, at once with 99 % (Bonferroni
   over drafters, lengths and temperatures; each interval is Student's, with the jackknife over prompts).
2. At temperature 0 nothing is random: the counted calls of every prompt are the predicted ones. A prompt where they
   differ is a near tie of two logits that float32 decides otherwise in another batch; at most one in a hundred.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from real import load
from real.decode.blocks import predict_along
from real.decode.given_text import Along
from real.decode.loop import Loop, decode_batch, keyed
from real.decode.options import DecodeOptions
from real.decode.warping import Warping
from real.named import drafter_named
from real.pair import Pair
from real.prompts import shipped_prompts
from real.prompts.chat_template import chat_ids
from real.studies.intervals import Estimate, jackknife
from specsim.verify.chain import tokenwise

DRAFTERS = ("lowrank", "feature", "fspad", "heads", "exit_2", "exit_5", "exit_10", "trigram", "ngram")
GAMMAS = range(1, 7)
# Prompts and tokens of a text at each temperature: where nothing is random few are enough.
SIZES = {1.0: (42, 20), 0.0: (12, 8)}
# All intervals hold at once with this probability.
TOGETHER = 0.99
# The largest share of greedy texts whose calls may differ, by criterion 2.
TIES = 0.01
RUNS = Path("runs/along")
# The seed of the texts that predictions are made of; drafters have the seeds after it.
WRITE = 0


class Row(NamedTuple):
    """A drafter at one length of its blocks and one temperature."""

    temperature: float
    drafter: str
    gamma: int

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.drafter}-{self.gamma}-T{self.temperature:g}"


class Counts(NamedTuple):
    """Sums of each prompt: tokens and target calls, expected and measured."""

    tokens: list[float]
    calls: list[float]


@cache
def smollm2() -> Pair[Any]:
    """Return the target without a draft model."""
    torch.set_num_threads(1)
    return load("smollm2")


def prompts_at(temperature: float) -> list[list[int]]:
    """Return the first prompts of the test split, in the target's chat template."""
    count, _ = SIZES[temperature]
    return [chat_ids(smollm2().tokenizer, prompt.text) for prompt in shipped_prompts("chat", "test")[:count]]


def drafter_of(name: str) -> Any:
    """Return a drafter of the target by its short name."""
    return drafter_named(name, smollm2().target, None)


def longest_of(name: str) -> int:
    """Return the longest blocks of a drafter in the table."""
    return min(max(GAMMAS), drafter_of(name).longest or max(GAMMAS))


def rows() -> list[Row]:
    """Return every row, in the order of the table."""
    return [
        Row(temperature, name, gamma)
        for temperature in SIZES
        for name in DRAFTERS
        for gamma in GAMMAS
        if gamma <= longest_of(name)
    ]


def plain(temperature: float) -> list[list[int]]:
    """Return the texts that the target writes after all prompts by plain decoding."""
    pair, prompts = smollm2(), prompts_at(temperature)
    runs = decode_batch(
        pair.target,
        None,
        prompts,
        max_tokens=SIZES[temperature][1],
        gamma=0,
        uniforms=[keyed(WRITE, i) for i in range(len(prompts))],
        warping=Warping(temperature),
        stop=pair.stopping(),
    )
    return [run.tokens for run in runs]


@lru_cache(maxsize=1)
def loop_of(temperature: float, name: str) -> Loop:
    """Return the loop of a drafter, which has read the prompts; the last one is kept for the drafter's next length."""
    pair, prompts = smollm2(), prompts_at(temperature)
    seed = WRITE + 1 + DRAFTERS.index(name)
    uniforms = [keyed(seed, i) for i in range(len(prompts))]
    options = DecodeOptions(longest_of(name), Warping(temperature), tokenwise, proposer=drafter_of(name))
    return Loop(pair.target, None, prompts, SIZES[temperature][1], uniforms, options)


def written(temperature: float, name: str, gamma: int) -> tuple[list[list[int]], list[int]]:
    """Return the texts that the loop writes after all prompts with a drafter, and the target calls of each."""
    pair, prompts = smollm2(), prompts_at(temperature)
    loop, ends = loop_of(temperature, name), pair.stopping()
    # Back to the prompts.
    loop.gamma, loop.blocks = gamma, [[] for _ in prompts]
    loop.texts[:] = map(list, prompts)
    loop.rewind([len(prompt) for prompt in prompts])

    # As `decode_batch` does it.
    while loop.open:
        for length, group in loop.groups():
            for i, new in zip(group, loop.block(group, length), strict=True):
                loop.keep(i, new, loop.drafted[i], ends)
    texts = [text[len(prompt) :] for text, prompt in zip(loop.texts, prompts, strict=True)]
    return texts, [len(blocks) for blocks in loop.blocks]


def expected(texts: list[list[int]], temperature: float, name: str, gammas: list[int]) -> dict[int, Counts]:
    """Return the expected calls of each text at each length, from one pass of `along` over each text."""
    pair, prompts = smollm2(), prompts_at(temperature)
    drafter, tokens = drafter_of(name), [len(text) for text in texts]
    calls: dict[int, list[float]] = {gamma: [] for gamma in gammas}
    for prompt, text in zip(prompts, texts, strict=True):
        q, p = drafter.along(pair.target, prompt, text, max(gammas), Warping(temperature))
        # A greedy text has the likeliest tokens, also where rounding in another batch decides a tie otherwise.
        p = p if temperature else np.ones_like(p)
        for gamma in gammas:
            calls[gamma].append(float(predict_along(Along(q[:, :gamma], p)).blocks))
    return {gamma: Counts(tokens, calls[gamma]) for gamma in gammas}


def kept(name: str, make: Any) -> Any:
    """Return what a file of this name holds; it is made where it is missing."""
    path = RUNS / f"{name}.json"
    if not path.exists():
        RUNS.mkdir(parents=True, exist_ok=True)
        made = json.dumps(make())
        path.with_suffix(".part").write_text(made, encoding="utf-8")
        path.with_suffix(".part").rename(path)
        print(name, file=sys.stderr, flush=True)
    return json.loads(path.read_text(encoding="utf-8"))


def predicted(row: Row) -> Counts:
    """Return tokens and expected calls of the texts that the target writes plainly."""

    def make() -> dict[int, Counts]:
        """Take the drafter along every text, at all lengths."""
        texts = kept(f"plain-T{row.temperature:g}", lambda: plain(row.temperature))
        return expected(texts, row.temperature, row.drafter, list(range(1, longest_of(row.drafter) + 1)))

    return Counts(*kept(f"{row.drafter}-along-T{row.temperature:g}", make)[str(row.gamma)])


def measured(row: Row) -> Counts:
    """Return tokens and counted calls of the loop."""

    def make() -> Counts:
        """Write with the drafter."""
        texts, calls = written(row.temperature, row.drafter, row.gamma)
        return Counts([len(text) for text in texts], calls)

    return Counts(*kept(row.name, make))


def difference(of_loop: Counts, of_along: Counts, level: float) -> Estimate:
    """Return the measured minus the predicted tokens per target call, with its interval over prompts."""
    sums = tuple(np.array(values) for values in (*of_loop, *of_along))
    return jackknife(sums, lambda tokens, calls, long, wanted: tokens / calls - long / wanted, level=level)


def holds(estimate: Estimate) -> bool:
    """Return whether 0 is in the interval; rounding may move an end of an interval without length."""
    return estimate.low - 1e-9 <= 0 <= estimate.high + 1e-9


def table(found: dict[Row, tuple[Counts, Counts]], estimates: dict[Row, Estimate]) -> Iterator[str]:
    """Yield the lines of both temperatures: predicted tau, then the differences with half their intervals."""
    line = "{:<9}" + "{:>14}" * len(GAMMAS)
    for temperature, (count, length) in SIZES.items():
        for words in ("predicted tau", "measured minus predicted"):
            yield f"{words}, temperature {temperature:g}, {count} texts of {length} tokens at most"
            yield line.format("gamma", *GAMMAS)
            for name in DRAFTERS:
                cells = []
                for row in (Row(temperature, name, gamma) for gamma in GAMMAS):
                    cell = ""
                    if row in found and words == "predicted tau":
                        cell = f"{sum(found[row][1].tokens) / sum(found[row][1].calls):.3f}"
                    elif row in found:
                        value, low, high = estimates[row]
                        star = " " if holds(estimates[row]) else "*"
                        cell = f"{value:+.3f}±{(high - low) / 2:.3f}{star}"
                    cells.append(cell)
                yield line.format(name, *cells).rstrip()
            yield ""


def main() -> None:
    """Print the table of every row, then a line for each criterion."""
    every = rows()
    found: dict[Row, tuple[Counts, Counts]] = {}
    for row in every:
        wanted = predicted(row)
        found[row] = measured(row), wanted
    level, alone = 1 - (1 - TOGETHER) / len(every), 0.95
    estimates = {row: difference(*pair, level) for row, pair in found.items()}
    print("\n".join(table(found, estimates)))

    # Criterion 1, and how often intervals of single rows hold 0.
    missing = [row.name for row, estimate in estimates.items() if not holds(estimate)]
    drawn = [row for row in every if row.temperature]
    single = [holds(difference(*found[row], alone)) for row in drawn]
    share = [(estimates[row].high - estimates[row].low) / 2 for row in drawn]
    taus = [sum(found[row][1].tokens) / sum(found[row][1].calls) for row in drawn]
    widths = np.array(share) / np.array(taus)
    print(f"1. all {len(every)} rows at once, 99 %: {_verdict(missing)}")
    median, widest = float(np.median(widths)), widths.max()
    print(f"   temperature 1: half an interval is {median:.1%} of tau in the median, {widest:.1%} at most")
    print(f"   temperature 1: of the {len(single)} intervals of single rows at 95 %, {sum(single)} hold 0")

    # Criterion 2: greedy texts whose calls are not those predicted.
    off = [
        (row.name, i)
        for row, (counted, wanted) in found.items()
        if not row.temperature
        for i, calls in enumerate(zip(counted.calls, wanted.calls, strict=True))
        if abs(calls[0] - calls[1]) > 1e-6
    ]
    texts = sum(len(found[row][0].calls) for row in every if not row.temperature)
    met = "met" if len(off) <= TIES * texts else "not met"
    print(f"2. greedy: the calls of {len(off)} of {texts} texts differ ({len({i for _, i in off})} prompts): {met}")


def _verdict(missing: list[str]) -> str:
    return f"not met: {', '.join(missing)}" if missing else "met"


if __name__ == "__main__":
    main()
