"""Our decoding of SmolLM2 against transformers' `generate`, in one run: `python tests/bench/bench_smollm2.py`.

Chat prompts of the test split, the same float32 weights, as many tokens after each prompt, text by text in turn; the
first repeat is dropped. Both decode plainly and with drafts that need no model (theirs: prompt look-up; ours: the
n-grams of the text); ours decodes with the drafter that is shipped for this model, too.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import transformers
import typer
from bench_engine import bandwidth, spread
from transformers import GenerationConfig

from real import load
from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.models.loading import load_hf
from real.models.names import BEST_DRAFT, SMOLLM2
from real.named import drafter_named
from real.pair import Pair
from real.prompts import shipped_prompts
from real.prompts.chat_template import chat_ids
from specsim.base.provenance import processor

COLUMNS = "{:<42}{:>4}{:>24}{:>14}{:>24}"
HEADER = COLUMNS.format("what", "T", "ms/token", "tokens/call", "as fast as its plain")
PLAIN, WITHOUT_A_MODEL, SHIPPED = "plain", "drafts without a model", BEST_DRAFT


class Models(NamedTuple):
    theirs: Any  # of transformers
    ours: Pair  # the same weights, and the shipped draft


class Setting(NamedTuple):
    temperature: float  # 0 is greedy
    tokens: int  # of a text


class Job(NamedTuple):
    side: str  # theirs or ours
    what: str
    gamma: int


class Timed(NamedTuple):
    seconds: float
    calls: int
    step: float  # seconds of a target call, once the prompt was read


Times = dict[Job, list[list[Timed]]]  # repeats, prompts


def jobs(gamma: int) -> list[Job]:
    """Return what takes turns: plain decoding, drafts without a model, and ours with the shipped drafter."""
    both = [Job(side, what, length) for what, length in ((PLAIN, 0), (WITHOUT_A_MODEL, gamma)) for side in SIDES]
    return [*both, Job("ours", SHIPPED, gamma)]


def theirs(models: Models, prompt: list[int], job: Job, setting: Setting, key: tuple[int, int]) -> Timed:
    """Time `generate`, with a hook on the target that counts its calls."""
    model, (temperature, tokens) = models.theirs, setting
    ends: list[float] = []
    law = {"do_sample": temperature > 0, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    look_up = {"prompt_lookup_num_tokens": job.gamma} if job.gamma else {}
    config = GenerationConfig(max_new_tokens=tokens, **law, **look_up)
    torch.manual_seed((key[0] << 20) + key[1])
    ids = torch.tensor([prompt])
    with model.register_forward_hook(lambda *call: ends.append(time.perf_counter())):
        start = time.perf_counter()
        out = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config)
        written = out[0, len(prompt) :].tolist()
        seconds = time.perf_counter() - start
    assert len(written) == tokens, f"{len(written)} tokens, not {tokens}"
    return Timed(seconds, len(ends), (ends[-1] - ends[0]) / (len(ends) - 1))


def ours(models: Models, prompt: list[int], job: Job, setting: Setting, key: tuple[int, int]) -> Timed:
    """Time our loop, which reads the prompt in a call of its own that is not counted."""
    pair, (temperature, tokens) = models.ours, setting
    proposer = drafter_named("ngram", pair.target, None) if job.what == WITHOUT_A_MODEL else None
    draft = pair.draft if job.what == SHIPPED else None
    start = time.perf_counter()
    (run,) = decode_batch(
        pair.target, draft, [prompt], max_tokens=tokens, gamma=job.gamma, uniforms=[keyed(*key)],
        warping=Warping(temperature), proposer=proposer,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    assert len(run.tokens) == tokens, f"{len(run.tokens)} tokens, not {tokens}"
    return Timed(seconds, len(run.blocks), run.seconds / len(run.blocks))


SIDES = {"theirs": theirs, "ours": ours}


def measure(models: Models, prompts: list[list[int]], setting: Setting, gamma: int, repeats: int) -> Times:
    """Return what every job took; the order of the jobs turns round with each prompt."""
    order = jobs(gamma)
    timed: Times = {job: [] for job in order}
    for repeat in range(repeats + 1):
        for job in order:
            timed[job].append([])
        for i, prompt in enumerate(prompts):
            for job in order if (repeat + i) % 2 else reversed(order):
                run = SIDES[job.side](models, prompt, job, setting, (repeat, i))
                timed[job][-1].append(run)
    return {job: runs[1:] for job, runs in timed.items()}


def milliseconds(runs: list[list[Timed]], tokens: int) -> np.ndarray:
    """Return the time of a token in each repeat, in milliseconds."""
    return np.array([1e3 * np.mean([run.seconds for run in repeat]) / tokens for repeat in runs])


def plain_pairs(timed: Times) -> list[list[tuple[Timed, Timed]]]:
    """Return what plain decoding took, (repeats, prompts, (theirs, ours))."""
    sides = [timed[Job(side, PLAIN, 0)] for side in SIDES]
    return [list(zip(*repeat, strict=True)) for repeat in zip(*sides, strict=True)]


def lines(timed: Times, setting: Setting) -> list[str]:
    """Return a line for each job: times, tokens for each target call, and its speed beside plain decoding."""
    plain = {job.side: milliseconds(runs, setting.tokens) for job, runs in timed.items() if job.what == PLAIN}
    written = []
    for job, runs in timed.items():
        ms = milliseconds(runs, setting.tokens)
        calls = np.mean([run.calls for repeat in runs for run in repeat])
        what = f"{job.side}: {job.what}" + (f", {job.gamma} a block" if job.gamma else "")
        gain = spread(plain[job.side] / ms) if job.gamma else ""
        written.append(
            COLUMNS.format(what, f"{setting.temperature:g}", spread(ms), f"{setting.tokens / calls:.3f}", gain)
        )
    written.append(f"plain: ours {spread(plain['theirs'] / plain['ours'])} times as fast as theirs")
    return written


def main(
    count: Annotated[int, typer.Option("--prompts", min=1, help="Prompts of the test split, from the first.")] = 4,
    max_tokens: Annotated[int, typer.Option(min=2, help="Tokens per text.")] = 64,
    repeats: Annotated[int, typer.Option(min=1, help="Repeats; one more is run and dropped.")] = 3,
    gamma: Annotated[int, typer.Option(min=1, help="Drafts per block.")] = 2,
    threads: Annotated[int, typer.Option(min=1, help="Threads of torch.")] = 1,
    dtype: Annotated[str, typer.Option(help="float32 or bfloat16, of both sides.")] = "float32",
) -> None:
    """Print the table, greedy first, and the share of the read bandwidth that our plain steps use."""
    torch.set_num_threads(threads)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    number = getattr(torch, dtype)
    pair, model = load(SMOLLM2, BEST_DRAFT, dtype=number), load_hf(SMOLLM2).to(number).eval()
    model.generation_config = GenerationConfig()  # its own names an end token, where `generate` would stop
    models = Models(model, pair)
    prompts = [chat_ids(pair.tokenizer, prompt.text) for prompt in shipped_prompts("chat", "test")[:count]]
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    print(f"SmolLM2-135M-Instruct, {dtype}, {processor()}, {versions}, threads: {threads}")
    print(f"{count} chat prompts, {max_tokens} new tokens each, {repeats} repeats: median [quartiles] of repeats.")
    print("Times are of whole texts, reading the prompt included.")
    print("", HEADER, "-" * len(HEADER), sep="\n")
    for temperature in (0.0, 1.0):
        setting = Setting(temperature, max_tokens)
        timed = measure(models, prompts, setting, gamma, repeats)
        print(*lines(timed, setting), sep="\n", flush=True)
    print(bandwidth(plain_pairs(timed), pair.target.weight_bytes))


if __name__ == "__main__":
    typer.run(main)
