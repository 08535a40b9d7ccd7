"""Sums over requests of llama.cpp, and the run that they are of."""

from __future__ import annotations

from typing import NamedTuple

from specsim.latency import Timing
from specsim.logs.printed import check_emitted
from specsim.logs.record import EngineLog, whole

NAME_OF_ENGINE = "llama.cpp"


class Totals(NamedTuple):
    """Sums over requests: emitted: tokens behind the first of each; blocks: those with drafts, None if not counted.

    answers: how many requests there were.
    """

    ms: float
    tokens: float
    emitted: float
    drafted: float = 0.0
    accepted: float = 0.0
    blocks: float | None = None
    kept: tuple[int, ...] = ()
    answers: int = 1


# The most drafts of a block, where a log does not say it: llama.cpp's default of 16, and mlx-vlm's of fewer.
MOST_DRAFTS = 16


def run_of_totals(source: str, totals: Totals) -> EngineLog:
    """Return the run with these totals."""
    if not totals.tokens or not totals.ms:
        raise ValueError(f"{source} says of {totals.tokens:g} tokens in {totals.ms:g} ms; expected some of both")
    token = Timing(totals.ms / 1e3 / totals.tokens, None)
    if not totals.drafted:
        return EngineLog(NAME_OF_ENGINE, source, False, batch=1.0, token=token)
    # Blocks as counted, or as cycles: emitted tokens less accepted drafts.
    cycles = totals.emitted - totals.accepted
    blocks, tau, coverage = totals.blocks, None, 1.0
    notes: tuple[str, ...] = ()
    if blocks is None:
        if cycles < 1:
            raise ValueError(
                f"{source}: {totals.accepted:g} drafts accepted among {totals.tokens:g} tokens; expected fewer"
            )
        first = "" if totals.emitted == totals.tokens else " behind the first of each answer"
        blocks, notes = cycles, (f"cycles are tokens{first} less accepted drafts",)
        if totals.drafted < cycles:
            notes += ("some cycles had no draft, as there are fewer drafts than cycles; numbers are of all cycles",)
    elif totals.accepted + blocks > totals.emitted:
        if totals.emitted < blocks:
            raise ValueError(f"{source}: {blocks:g} blocks emitted {totals.emitted:g} tokens; expected no fewer")
        longest = len(totals.kept) or max(totals.drafted / blocks, MOST_DRAFTS)
        check_emitted(totals.emitted, blocks, totals.accepted, totals.answers * longest, source)
        tau = Timing(totals.emitted / blocks, None)
        notes = ("drafts accepted behind the end of an answer are counted as accepted, and not as emitted",)
    else:
        coverage = blocks / cycles
    return EngineLog(
        NAME_OF_ENGINE,
        source,
        True,
        batch=1.0,
        length=totals.drafted / blocks,
        blocks=whole(blocks, f"{source}: blocks"),
        drafted=whole(totals.drafted, f"{source}: drafted"),
        accepted=whole(totals.accepted, f"{source}: accepted"),
        kept=totals.kept if tau is None else (),
        tau=tau,
        token=token,
        notes=notes,
        coverage=coverage,
    )
