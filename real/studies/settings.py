"""Options that several commands take, each with its help; and the pair that two of them name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from real import TINY
from real.models.names import BEST_DRAFT, SMOLLM2, TINY_PAIR, check_place, near_model, shipped_draft
from specsim.commands.completion import starting

if TYPE_CHECKING:
    from real.pair import Pair

# The largest seed that torch takes.
MOST_SEED = (1 << 63) - 1


def _seed(value: int) -> int:
    """Return a seed, and refuse one that torch does not take.

    The type is no range, which would put nineteen digits into every help.
    """
    if not 0 <= value <= MOST_SEED:
        raise typer.BadParameter(f"{value} is not in the range 0<=x<={MOST_SEED}.")
    return value


# Panels of the help of a command with many options.
PROMPTS, LOAD, DRAFTS, LAW, MACHINE = "Prompts", "Load", "Drafts", "Sampled law", "Machine"

Draft = Annotated[
    str,
    typer.Argument(
        help=f"Folder, GGUF file or hub id of the draft; or one shipped for smollm2, such as {SMOLLM2}/exit_5. "
        f"[default: {BEST_DRAFT} for smollm2]",
        show_default=False,
    ),
]
Temperature = Annotated[float, typer.Option(help="Temperature of target and draft; 0 is greedy.", rich_help_panel=LAW)]
TopK = Annotated[int, typer.Option(help="Sample from so many likeliest tokens; 0: all.", rich_help_panel=LAW)]
TopP = Annotated[
    float,
    typer.Option(
        help="Sample from the likeliest tokens whose probabilities add up to this; 1: off.", rich_help_panel=LAW
    ),
]
MinP = Annotated[
    float,
    typer.Option(
        help="Leave out tokens whose probability is below this share of the likeliest one's; 0: off.",
        rich_help_panel=LAW,
    ),
]
RepetitionPenalty = Annotated[
    float, typer.Option(help="Divide the logits of tokens seen before by this; 1: off.", rich_help_panel=LAW)
]
Seed = Annotated[int, typer.Option(callback=_seed, help="Seed of the random numbers.", rich_help_panel=LAW)]
Device = Annotated[str, typer.Option(help="Device of both models: cpu, cuda, cuda:1, ...", rich_help_panel=MACHINE)]
Dtype = Annotated[
    str,
    typer.Option(
        help="Number type of weights and products: float32, bfloat16, float16 or float64.",
        rich_help_panel=MACHINE,
        autocompletion=starting(lambda: ("float32", "bfloat16", "float16", "float64")),
    ),
]
Weights = Annotated[
    str,
    typer.Option(
        help="Stored type of the target's weights: int8 or int4. Lossless is then said of the rounded target.",
        rich_help_panel=MACHINE,
        autocompletion=starting(lambda: ("int8", "int4")),
        show_default=False,
    ),
]
Threads = Annotated[
    int, typer.Option(help="Threads of torch; 1 is steadiest on a shared machine.", rich_help_panel=MACHINE)
]


def checked_pair(target: str, draft: str) -> tuple[str, str]:
    """Return the places of a target and its draft, "" for those of the bundled pair, tiny.

    Without a draft, smollm2 has its best shipped one. Raise ValueError for a target without a
    draft, and for places that hold no model; before torch is loaded.
    """
    if target == TINY_PAIR:
        if draft:
            raise ValueError(f"{TINY_PAIR} is a pair, target and draft: leave out the draft {draft}")
        return "", ""
    if target == SMOLLM2 and not draft:
        draft = BEST_DRAFT
    try:
        check_place(target)
    except ValueError as error:
        # The default of a command may not be installed; a bare word may be a mistyped name of a pair.
        way_on = ""
        if target == SMOLLM2:
            way_on = f"; or name {TINY_PAIR}, the bundled pair"
        elif not draft and target.isidentifier():
            way_on = f"{'' if near_model(target) else ';'} pairs by name: {TINY_PAIR}, {SMOLLM2}"
        raise ValueError(f"{error}{way_on}") from None
    if not draft:
        raise ValueError(f"{target} needs a draft: give both models, or name a pair, {TINY_PAIR} or {SMOLLM2}")
    if shipped_draft(draft) is None:
        check_place(draft)
    return target, draft


def record_name(target: str, draft: str) -> str:
    """Return the name of the default record of a comparison, from what `checked_pair` returns.

    >>> record_name("smollm2", "smollm2/lowrank"), record_name("", ""), record_name("models/a.gguf", "owner/b-0.6B")
    ('compare-smollm2-lowrank', 'compare-tiny', 'compare-a-b-0.6B')
    """
    if not target:
        return f"compare-{TINY_PAIR}"
    # The last part of each place, in characters that every file system takes; "." has a name, too.
    parts = [(Path(place).name or Path(place).resolve().name).removesuffix(".gguf") for place in (target, draft)]
    return "-".join(["compare", *(re.sub(r"[^\w.-]+", "_", part)[:60] for part in parts)])


def default_prompts(target: str) -> Path | None:
    """Return the shipped prompts that suit a target where none are named, None for the bundled ones."""
    return Path("chat:test") if target == SMOLLM2 else None


def loading(*names: str) -> None:
    """Print the names of what is loaded, before torch is: that alone takes seconds."""
    typer.echo(f"loading {' and '.join(names)} ...", err=True)


def open_pair(
    target: str | None,
    draft: str | None,
    *,
    threads: int,
    dtype: str = "float32",
    device: str = "cpu",
    widen: int = 0,
    weights: str = "",
) -> Pair:
    """Load the pair that the options of these names describe, the bundled one without names."""
    # Imported here, after the line that says so: this takes seconds.
    loading(*((target, draft) if target and draft else ("the bundled pair",)))
    import torch
    from transformers.utils.logging import disable_progress_bar

    from real.load_pair import load
    from real.models.device import parse_device, parse_dtype

    torch.set_num_threads(threads)
    disable_progress_bar()
    return load(
        target or TINY / "target",
        draft or TINY / "draft",
        dtype=parse_dtype(dtype),
        device=parse_device(device),
        widen_to=widen * 1_000_000 or None,
        weights=weights or None,
    )
