"""Part `smollm2`: a checkpoint that was not trained here, with the drafters that are shipped for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from real.decode.clock import synchronize
from real.decode.graphs import Kept
from real.decode.loop import Decoded, decode_batch, keyed
from real.decode.warp import Warping
from real.gpu.book import Part, Row, Task, row_task
from real.load_pair import load
from real.models.gguf_names import gguf_path
from real.models.memory import explain_oom
from real.models.names import SMOLLM2
from real.named import drafter_named, drafters
from real.pair import Pair
from real.prompts import shipped_prompts
from real.prompts.chat_template import has_template, prompt_ids

# Every drafter that is shipped for the target ("smollm2/heads" is "heads"), and one that needs no
# training.
DRAFTERS = (*(name.removeprefix(f"{SMOLLM2}/") for name in drafters() if name.startswith(f"{SMOLLM2}/")), "ngram")
# Drafts of a block where greedy texts are compared with those of the CPU.
CHECKED_GAMMA = 3


@dataclass(frozen=True)
class Settings:
    """Settings of the part.

    All cycles are launched by Python step by step: drafters cannot be captured as a CUDA graph.
    Plain decoding as graphs is timed beside them.
    """

    target: str = SMOLLM2
    drafters: tuple[str, ...] = DRAFTERS
    gammas: tuple[int, ...] = (2, 4)
    batches: tuple[int, ...] = (1, 8)
    temperatures: tuple[float, ...] = (0.0, 1.0)
    # Prompts of the test split that are timed, and tokens of each text at most.
    prompts: int = 8
    max_tokens: int = 64
    # Prompts whose greedy texts are compared with the CPU's, in float64, and tokens of each text.
    checked: int = 4
    checked_tokens: int = 48
    # Turns of which a time is the median; plain decoding and every gamma have one after the other.
    turns: int = 3
    dtype: str = "bfloat16"


TINY = Settings(
    drafters=("lowrank", "ngram"),
    gammas=(2,),
    batches=(1, 2),
    temperatures=(0.0,),
    prompts=2,
    max_tokens=6,
    checked=1,
    checked_tokens=6,
    turns=1,
    dtype="float32",
)


def part(device: torch.device, *, tiny: bool) -> Part:
    """Return the part: greedy texts are the CPU's; a row for each temperature, batch, drafter and gamma.

    Without the checkpoint nothing is measured, and the part names what to install.
    """
    settings = TINY if tiny else Settings()
    if (missing := what_is_missing(settings.target)) is not None:
        return Part("smollm2", asdict(settings), [], skipped=missing)

    # Models are loaded when first needed, and dropped with the part.
    load_exact = cache(partial(_load_pair, settings, torch.float64, device))
    load_on_cpu: Callable[[], Pair[None]] = partial(_load_pair, settings, torch.float64, torch.device("cpu"))
    if device.type == "cpu":
        load_on_cpu = load_exact
    expected = cache(partial(_expected, settings, load_on_cpu))
    load_timed = cache(partial(_load_pair, settings, getattr(torch, settings.dtype), device))

    # Comparisons with the CPU, then a task for each temperature, batch and drafter.
    tasks = [
        row_task(f"tokens/{name}", partial(_same_text, settings, name, load_exact, expected))
        for name in settings.drafters
    ]
    for temperature in settings.temperatures:
        for batch in settings.batches:
            for name in settings.drafters:
                keys = [f"T={temperature:g}/batch {batch}/{name}/gamma {gamma}" for gamma in settings.gammas]
                tasks.append(Task(keys, partial(_timed, settings, load_timed, temperature, batch, name)))
    return Part("smollm2", asdict(settings), tasks)


def what_is_missing(target: str) -> str | None:
    """Return what has to be installed before a target can be loaded; None if it can."""
    try:
        is_file = gguf_path(target) is not None
    except ValueError as error:
        return str(error)
    return "gguf is not installed: pip install gguf" if is_file and find_spec("gguf") is None else None


def _load_pair(settings: Settings, dtype: torch.dtype, device: torch.device) -> Pair[None]:
    """Load the target as a pair without a draft model: the drafters need none."""
    with explain_oom(f"the weights of {settings.target} in {dtype}", "more free memory on the device"):
        pair: Pair[None] = load(settings.target, dtype=dtype, device=device)
        return pair


def _prompts(pair: Pair[None], count: int) -> list[list[int]]:
    """Return the first `count` prompts of the test split as tokens, with the chat template if there is one."""
    is_chat = has_template(pair.tokenizer)
    return [prompt_ids(pair.tokenizer, prompt.text, is_chat) for prompt in shipped_prompts("chat", "test")[:count]]


def _expected(settings: Settings, load_pair: Callable[[], Pair[None]]) -> list[list[int]]:
    """Return the greedy texts of plain decoding on the CPU, in float64."""
    pair = load_pair()
    runs = _decode(pair, None, 0, _prompts(pair, settings.checked), settings.checked_tokens, Warping(0.0))
    return [run.tokens for run in runs]


def _same_text(
    settings: Settings, name: str, load_pair: Callable[[], Pair[None]], expected: Callable[[], list[list[int]]]
) -> Row:
    """Return the row that compares greedy texts with a drafter on the device with `expected`, the CPU's.

    `different` holds the numbers of the prompts whose texts differ.
    """
    pair = load_pair()
    drafter = drafter_named(name, pair.target, None)
    prompts = _prompts(pair, settings.checked)
    runs = _decode(pair, drafter, CHECKED_GAMMA, prompts, settings.checked_tokens, Warping(0.0))
    different = [i for i, (run, tokens) in enumerate(zip(runs, expected(), strict=True)) if run.tokens != tokens]
    num_tokens = sum(map(len, expected()))
    return {"cases": len(runs), "tokens": num_tokens, "different": different, "passed": not different}


def _decode(
    pair: Pair[None],
    drafter: Any,
    gamma: int,
    prompts: list[list[int]],
    max_tokens: int,
    warping: Warping,
    captured_graphs: Kept | None = None,
) -> list[Decoded]:
    """Decode prompts in one batch with a drafter, or plainly if gamma is 0.

    Cycles are replayed as CUDA graphs if `captured_graphs` is given, the store of graphs that were
    captured before; otherwise Python launches them step by step.
    """
    return decode_batch(
        pair.target,
        draft=None,
        prompts=prompts,
        max_tokens=max_tokens,
        gamma=gamma,
        proposer=drafter if gamma else None,
        uniforms=[keyed(0, i) for i in range(len(prompts))],
        stop=pair.stopping(),
        warping=warping,
        fixed=captured_graphs is not None,
        kept=captured_graphs,
    )


def _timed(
    settings: Settings,
    load_pair: Callable[[], Pair[None]],
    temperature: float,
    batch: int,
    name: str,
    wanted: list[str],
) -> Iterator[tuple[str, Row]]:
    """Yield a row for each wanted key: the tau and the speedup of a drafter at one gamma.

    Keys are as "T=1/batch 8/ngram/gamma 4". The speedup is seconds a token of plain decoding over
    those with drafts, both launched step by step.
    """
    # The models, the batches of prompts, and each key's gamma.
    pair, warping = load_pair(), Warping(temperature)
    drafter, device = drafter_named(name, pair.target, None), pair.target.device
    prompts = _prompts(pair, settings.prompts)
    batches = [prompts[first : first + batch] for first in range(0, len(prompts), batch)]
    gammas = {key: int(key.rpartition(" ")[2]) for key in wanted}

    # Variants that take turns, each with its gamma and store of captured graphs (None: step by
    # step): plain decoding as graphs (on a GPU), plain decoding step by step, and each gamma.
    variants: dict[str, tuple[int, Kept | None]] = {}
    if device.type == "cuda":
        variants["graphs"] = (0, Kept())
    variants["plain"] = (0, None)
    variants |= {key: (gamma, None) for key, gamma in gammas.items()}

    # For each variant the seconds of each turn, and numbers of tokens and target calls, which are
    # the same in each turn. The first turn warms up, on one batch.
    seconds = {variant: list[float]() for variant in variants}
    counts = dict[str, tuple[int, int]]()
    with explain_oom(f"texts of {settings.max_tokens} tokens in batches of {batch}", f"batch {max(batch // 2, 1)}"):
        for turn in range(settings.turns + 1):
            batches_of_turn = batches if turn else batches[:1]
            for variant, (gamma, captured_graphs) in variants.items():
                synchronize(device)
                began = time.perf_counter()
                runs = [
                    run
                    for batch_prompts in batches_of_turn
                    for run in _decode(
                        pair, drafter, gamma, batch_prompts, settings.max_tokens, warping, captured_graphs
                    )
                ]
                synchronize(device)
                seconds[variant].append(time.perf_counter() - began)
                counts[variant] = sum(len(run.tokens) for run in runs), sum(len(run.blocks) for run in runs)

    # Seconds a token of each variant: the median turn without the first.
    token_s = {}
    for variant, (tokens, _) in counts.items():
        token_s[variant] = float(np.median(seconds[variant][1:])) / tokens

    # Rows.
    for key, gamma in gammas.items():
        tokens, calls = counts[key]
        yield key, {
            "drafter": name, "temperature": temperature, "batch": batch, "gamma": gamma, "tokens": tokens,
            "target_calls": calls, "tau": {"measured": tokens / calls}, "plain_token_s": token_s["plain"],
            "plain_graphs_token_s": token_s.get("graphs"), "token_s": token_s[key],
            "speedup": {"measured": token_s["plain"] / token_s[key]},
        }  # fmt: skip
