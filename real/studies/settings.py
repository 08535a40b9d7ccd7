"""Options that several commands take, each with its help."""

from __future__ import annotations

from typing import Annotated

import typer

MOST_SEED = (1 << 63) - 1  # that torch takes


def _seed(value: int) -> int:
    """A seed that torch takes; a range as its type would put nineteen digits into every help."""
    if not 0 <= value <= MOST_SEED:
        raise typer.BadParameter(f"{value} is not in the range 0<=x<={MOST_SEED}.")
    return value


Temperature = Annotated[float, typer.Option(help="Of the law that is sampled; 0: greedy.")]
TopK = Annotated[int, typer.Option(help="Likeliest tokens that are kept; 0: all.")]
TopP = Annotated[float, typer.Option(help="Probability that the likeliest tokens kept add up to; 1: off.")]
MinP = Annotated[float, typer.Option(help="Least probability kept, over that of the likeliest token; 0: off.")]
RepetitionPenalty = Annotated[float, typer.Option(help="Divides the logits of tokens seen before; 1: off.")]
Seed = Annotated[int, typer.Option(callback=_seed, help="Of every random number.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...: where both models run.")]
Dtype = Annotated[str, typer.Option(help="float32, bfloat16, float16 or float64: of weights and products.")]
Weights = Annotated[
    str,
    typer.Option(
        help="int8 or int4: round the target's projections. Losslessness is then that of the rounded target.",
        show_default=False,
    ),
]
Threads = Annotated[int, typer.Option(help="Torch threads; 1 is steadiest on a shared machine.")]
