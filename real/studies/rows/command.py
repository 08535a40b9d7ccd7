"""The command `specsim-real rows`: both models' laws along texts, for `specsim plan --rows`.

A drafter of one pass has a law for each position of a block; all other drafts have one for each token.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from real.models.names import BEST_DRAFT, ONE_PASS, SMOLLM2, TINY_PAIR, check_dtype
from real.options import positive
from real.studies.prompting import ChatOption, PromptsOption, chosen_prompts
from real.studies.settings import (
    PROMPTS,
    Device,
    Dtype,
    MinP,
    Seed,
    Temperature,
    Threads,
    TopK,
    TopP,
    checked_pair,
    default_prompts,
    open_pair,
)
from specsim.base import limits
from specsim.base.files import check_writable, write_bytes
from specsim.commands.json_form import json_answer
from specsim.commands.options import OUTPUT

if TYPE_CHECKING:
    from torch import Tensor

    from real.decode.proposer import Drafter
    from real.decode.warping import Warping
    from real.models.model import LanguageModel
    from real.pair import Pair
    from specsim.types import Array

EXAMPLES = (
    "specsim-real rows --count 16 --max-tokens 64 --out rows.safetensors",
    "specsim plan --rows rows.safetensors --cost-ratio 0.05",
    "specsim-real rows smollm2 smollm2/heads --count 12 --max-tokens 32",
    "specsim plan --rows rows.safetensors --one-pass --cost-ratio 0.05",
)
# Largest size of a file, in bytes; both laws are stored in 32 bits.
MOST_BYTES = 4 << 30


def rows(
    target: Annotated[
        str,
        typer.Argument(help="Folder, GGUF file or hub id of the target; or smollm2, or tiny, the bundled pair."),
    ] = TINY_PAIR,
    draft: Annotated[
        str,
        typer.Argument(
            help="Folder, GGUF file or hub id of the draft; or one shipped for smollm2, such as smollm2/exit_5; or "
            f"{ONE_PASS[SMOLLM2]}, a drafter of one pass ({ONE_PASS[TINY_PAIR]} for tiny). "
            f"[default: {BEST_DRAFT} for smollm2]",
            show_default=False,
        ),
    ] = "",
    out: Annotated[Path, typer.Option(help="The safetensors file to write.", rich_help_panel=OUTPUT)] = Path(
        "rows.safetensors"
    ),
    prompts: PromptsOption = None,
    chat: ChatOption = None,
    count: Annotated[
        int,
        typer.Option(
            help="Prompts used, from the first; ten or more, for an error that holds.", rich_help_panel=PROMPTS
        ),
    ] = 16,
    max_tokens: Annotated[int, typer.Option(help="Tokens per text.", rich_help_panel=PROMPTS)] = 64,
    temperature: Temperature = 1.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    min_p: MinP = 0.0,
    seed: Seed = 0,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    threads: Threads = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was written as JSON.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Write the laws of target and draft along texts of the target, for `specsim plan --rows`."""
    # Refuse bad options before torch is loaded.
    check_writable(out)
    # A drafter of one pass reads the target's states: its pair's draft model is not asked.
    name = ONE_PASS.get(target, "") if draft in ("heads", ONE_PASS.get(target)) else ""
    target, draft = checked_pair(target, "" if name else draft)
    check_dtype(dtype)
    chosen = chosen_prompts(prompts or default_prompts(target), count, chat)
    positive(max_tokens, "max_tokens")
    positive(threads, "threads", limits.MAX_THREADS)

    # The pair and its prompts, and the size of the file.
    from real.decode.warping import Warping

    warping = Warping(temperature, top_k, top_p, min_p)
    pair = open_pair(target, draft, threads=threads, dtype=dtype, device=device)
    from safetensors.numpy import save

    from real.named import drafter_named

    prompt_ids = chosen.encoded(pair.tokenizer)
    drafter = drafter_named(name, pair.target, None) if name else None
    laws_of_token = 2 if drafter is None else 1 + longest_block(drafter)
    needed = 4 * laws_of_token * pair.target.vocab_size * len(prompt_ids) * max_tokens
    if needed > MOST_BYTES:
        raise ValueError(
            f"{len(prompt_ids)} texts of {max_tokens} tokens over {pair.target.vocab_size} "
            f"take {needed / 1e9:.1f} GB, "
            f"above {MOST_BYTES / 1e9:.1f}; lower --count or --max-tokens"
        )

    # Write the file, and print what it holds.
    arrays = along(pair, prompt_ids, max_tokens=max_tokens, warping=warping, seed=seed, drafter=drafter)
    write_bytes(out, save(arrays))
    texts_written, tokens = len(arrays["lengths"]), len(arrays["tokens"])
    if as_json:
        answer = {
            "out": str(out),
            "texts": texts_written,
            "tokens": tokens,
            "vocab": pair.target.vocab_size,
        }
        answer |= chosen.asked | chosen.applied(pair.tokenizer)
        answer |= {"lengths": arrays["lengths"].tolist()}
        typer.echo(json_answer("specsim-real/rows", answer))
    else:
        one_pass = " --one-pass" if drafter is not None else ""
        typer.echo(f"{texts_written} texts, {tokens} tokens: specsim plan --rows {out}{one_pass} ...")


def along(
    pair: Pair,
    prompts: list[list[int]],
    *,
    max_tokens: int,
    warping: Warping,
    seed: int,
    drafter: Drafter | None = None,
) -> dict[str, Array]:
    """Return the laws of target and draft along texts that the target writes after the prompts.

    The keys are those of the file: p and q (n, V), tokens (n,), and the lengths of the texts. Of a
    drafter of one pass q is (n, gamma, V): its law of each draft of a block that starts at a token.
    """
    import numpy as np

    from real.decode.score import laws
    from real.draft._contract import target_laws
    from real.studies.plain import plain_texts

    # The texts, and for each of them that is not empty its laws and tokens.
    texts = plain_texts(pair, prompts, max_tokens=max_tokens, warping=warping, seed=seed)
    p: list[Array] = []
    q: list[Array] = []
    tokens: list[int] = []
    lengths: list[int] = []
    for prompt, text in zip(prompts, texts, strict=True):
        if not text:
            continue
        # Laws are normalised in float64, then rounded.
        if drafter is None:
            both_laws = laws(pair.target, pair.draft, prompt, text, warping)
        else:
            q_laws = block_laws(drafter, pair.target, prompt, text, warping)
            both_laws = target_laws(pair.target, prompt, text, warping), q_laws
        for rounded_laws, tensor in zip((p, q), both_laws, strict=True):
            law = np.asarray(tensor.double().cpu())
            rounded_laws.append((law / law.sum(axis=-1, keepdims=True)).astype(np.float32))
        tokens.extend(text)
        lengths.append(len(text))
    if not lengths:
        raise ValueError("no text has a token: the target ended each of them at once")
    return {
        "p": np.concatenate(p),
        "q": np.concatenate(q),
        "tokens": np.array(tokens),
        "lengths": np.array(lengths),
    }


def longest_block(drafter: Drafter) -> int:
    """Return the most drafts of a block that a shipped drafter of one pass has heads for."""
    assert drafter.longest is not None
    return drafter.longest


def block_laws(
    drafter: Drafter,
    target: LanguageModel,
    prompt: list[int],
    text: list[int],
    warping: Warping,
) -> Tensor:
    """Return laws (T, gamma, V) of a drafter of one pass, for its longest block before each token."""
    assert drafter.block_rows is not None
    return drafter.block_rows(target, prompt, text, longest_block(drafter), warping)
