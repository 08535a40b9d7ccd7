"""Our decoding against transformers' `generate`, in one run: `python tests/bench/bench_engine.py [--widen MILLIONS]`.

One thread. Both write as many tokens after the same prompts with the same weights, text by text in turn; the first
repeat is dropped. Every text is checked: its length, and that every target call judged gamma drafts.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import json
import time
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import transformers
import typer
from transformers import GenerationConfig

import real
from real.decode.loop import decode, keyed
from real.decode.warp import Warping
from real.models.loading import load_hf, load_tokenizer
from real.models.model import LanguageModel, from_hf
from real.studies.calibrate import copy_bandwidth, read_bandwidth
from specsim.base.provenance import processor

TINY = Path(real.__file__).parent / "tiny"
COLUMNS = "{:<21}{:>6}{:>24}{:>24}{:>19}{:>17}{:>16}"
HEADER = COLUMNS.format(
    "what", "gamma", "theirs ms/token", "ours ms/token", "ours faster by", "theirs tok/call", "ours tok/call"
)


class Setting(NamedTuple):
    temperature: float  # 0 is greedy
    gamma: int  # 0 is plain decoding
    tokens: int


class Models(NamedTuple):
    theirs: tuple[Any, Any]  # target and draft
    ours: tuple[LanguageModel, LanguageModel]  # the same weights


class Run(NamedTuple):
    tokens: list[int]
    calls: list[tuple[int, int]]  # of the target: tokens of text before, drafts judged
    seconds: float
    step: float  # seconds of a target call once the prompt was read


Runs = list[list[tuple[Run, Run]]]  # repeats, prompts, (theirs, ours)


def models(millions: int = 0) -> Models:
    """The bundled pair in float32; or its target at the cost of so many million parameters, both in bfloat16."""
    target, draft = load_hf(TINY / "target"), load_hf(TINY / "draft")
    if millions:
        from real.models.widen import widen

        target, draft = widen(target, millions * 1_000_000, dtype=torch.bfloat16), draft.to(torch.bfloat16)
    target.generation_config = GenerationConfig()  # its own names an end token, where `generate` would stop
    return Models((target, draft), (from_hf(target), from_hf(draft)))


def assistant_config(gamma: int) -> GenerationConfig:
    """Always gamma drafts. Read from the draft model only; the defaults are 20 and an end where it is unsure (0.4)."""
    return GenerationConfig(
        num_assistant_tokens=gamma, num_assistant_tokens_schedule="constant", assistant_confidence_threshold=0.0
    )


def theirs(pair: Models, prompt: list[int], setting: Setting, key: tuple[int, int]) -> Run:
    """`generate`, with a hook on the target (microseconds a call) that sees how many drafts each call judges."""
    (target, draft), calls, ends = pair.theirs, [], []

    def count(module: Any, args: Any, kwargs: Any, output: Any) -> None:
        ends.append(time.perf_counter())
        held = kwargs["past_key_values"].get_seq_length()
        before = max(held - kwargs["input_ids"].shape[1] + 1, len(prompt))  # the first call reads the prompt too
        calls.append((before, held - before))

    # All stated, and so for the draft too: what is left out comes from defaults, top_k = 50 among them.
    law = {"do_sample": setting.temperature > 0, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    draft.generation_config = assistant_config(setting.gamma)
    options = {"assistant_model": draft} if setting.gamma else {}
    torch.manual_seed((key[0] << 20) + key[1])
    with target.register_forward_hook(count, with_kwargs=True):
        start = time.perf_counter()
        ids, config = torch.tensor([prompt]), GenerationConfig(max_new_tokens=setting.tokens, **law)
        out = target.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config, **options)
        new = out[0, len(prompt) :].tolist()
        seconds = time.perf_counter() - start
    return Run(new, calls, seconds, (ends[-1] - ends[0]) / max(len(ends) - 1, 1))


def ours(pair: Models, prompt: list[int], setting: Setting, key: tuple[int, int]) -> Run:
    (target, draft), (temperature, gamma, tokens) = pair.ours, setting
    start = time.perf_counter()
    run = decode(
        target,
        draft if gamma else None,
        prompt,
        max_tokens=tokens,
        gamma=gamma,
        uniforms=keyed(*key),
        warping=Warping(temperature),
        stop=frozenset(),
    )
    seconds = time.perf_counter() - start
    return Run(run.tokens, [(b.start, b.drafted) for b in run.blocks], seconds, run.seconds / len(run.blocks))


def check(run: Run, prompt: list[int], setting: Setting) -> None:
    """The asked number of tokens, and gamma drafts a call; near the end those that can still be used."""
    assert len(run.tokens) == setting.tokens, f"{len(run.tokens)} tokens, not {setting.tokens}"
    for before, drafted in run.calls:
        usable = len(prompt) + setting.tokens - before - 1
        assert drafted == min(setting.gamma, usable), f"{drafted} drafts, not {setting.gamma} ({usable} usable)"


def measure(pair: Models, prompts: list[list[int]], setting: Setting, repeats: int) -> Runs:
    """Runs of both, which goes first alternating; after a warm-up."""
    out: Runs = []
    for repeat in range(repeats + 1):
        out.append([])
        for i, prompt in enumerate(prompts):
            order = (theirs, ours) if (repeat + i) % 2 else (ours, theirs)
            both = {side: side(pair, prompt, setting, (repeat, i)) for side in order}
            for run in both.values():
                check(run, prompt, setting)
            out[-1].append((both[theirs], both[ours]))
    return out[1:]


def numbers(runs: Runs, value: Any) -> Any:
    """A number of every run, (repeats, prompts, 2)."""
    return np.array([[[value(run) for run in both] for both in repeat] for repeat in runs])


def spread(values: Any) -> str:
    return "{1:.2f} [{0:.2f}, {2:.2f}]".format(*np.quantile(values, [0.25, 0.5, 0.75]))


def tokens_per_call(runs: Runs, tokens: int) -> list[str]:
    """Of theirs and ours, with the standard error of the draws (the prompts are the same, so it is 0 for greedy)."""
    calls = numbers(runs, lambda run: len(run.calls))
    tau = tokens / calls.mean((0, 1))
    if len(runs) == 1:
        return [f"{t:.3f}" for t in tau]
    error = tau**2 / tokens * np.sqrt(calls.var(0, ddof=1).mean(0) / calls[..., 0].size)
    return [f"{t:.3f} ±{e:.3f}" for t, e in zip(tau, error, strict=True)]


def line(setting: Setting, runs: Runs) -> str:
    ms = 1e3 * numbers(runs, lambda run: run.seconds).mean(1) / setting.tokens
    times = [spread(ms[:, 0]), spread(ms[:, 1]), spread(ms[:, 0] / ms[:, 1])]
    what = f"{'speculative' if setting.gamma else 'plain'}, {'sampled' if setting.temperature else 'greedy'}"
    return COLUMNS.format(what, setting.gamma, *times, *tokens_per_call(runs, setting.tokens))


def bandwidth(runs: Runs, weights: int) -> str:
    """Bytes of weights over the time of a plain step, beside what a sum reads and what a copy moves."""
    theirs, ours = weights / np.median(numbers(runs, lambda run: run.step), (0, 1)) / 1e9
    read, copied = (measure(torch.device("cpu")) / 1e9 for measure in (read_bandwidth, copy_bandwidth))
    return (
        f"GB/s in plain sampled steps, each reading {weights / 1e6:.1f} MB of weights: theirs {theirs:.1f}, "
        f"ours {ours:.1f}, {ours / read:.0%} of what a sum of 268 MB reads, {read:.1f}; "
        f"a copy of as many, bytes read + bytes written: {copied:.1f}"
    )


def main(
    count: Annotated[int, typer.Option("--prompts", min=1, help="Prompts, from the first bundled one.")] = 4,
    max_tokens: Annotated[int, typer.Option(min=2, help="Tokens per text.")] = 64,
    repeats: Annotated[int, typer.Option(min=1, help="Repeats; one more is run and dropped.")] = 5,
    gamma: Annotated[list[int], typer.Option(min=1, help="Speculation length; repeatable.")] = [2, 4],  # noqa: B006
    widen: Annotated[int, typer.Option(min=0, help="Then the target at the cost of so many million parameters.")] = 0,
) -> None:
    """Print the tables of the bundled pair and, if asked for, of its widened target."""
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()  # their assisted generation warns of its own calls
    transformers.utils.logging.disable_progress_bar()
    tokenizer, texts = load_tokenizer(TINY / "target"), json.loads((TINY / "prompts.json").read_text())["prompts"]
    prompts = [list(tokenizer(text)["input_ids"]) for text in texts[:count]]
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    print(f"{processor()}, {versions}, one thread")
    print(f"{len(prompts)} prompts, {max_tokens} new tokens each, {repeats} repeats: median [quartiles] of repeats")
    print("Times are of whole texts, reading the prompt included (ours reads it in a call of its own, not counted in")
    print("tok/call: new tokens per target call, ± standard error of the draws).")
    for millions in (0, widen) if widen else (0,):
        pair = models(millions)
        name = f"Target widened to {millions}M parameters (cost emulation)" if millions else "Bundled pair"
        print(f"\n{name}, {str(pair.ours[0].dtype).removeprefix('torch.')}", HEADER, "-" * len(HEADER), sep="\n")
        done: dict[Setting, Runs] = {}
        for length in (0, *gamma):
            for temperature in (1.0, 0.0):
                setting = Setting(temperature, length, max_tokens)
                done[setting] = measure(pair, prompts, setting, repeats)
                print(line(setting, done[setting]), flush=True)
        print(bandwidth(done[Setting(1.0, 0, max_tokens)], pair.ours[0].weight_bytes))


if __name__ == "__main__":
    typer.run(main)
