"""Part `rules`: what a call of each verification rule costs over a real vocabulary, beside one softmax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from real.decode import graphs
from real.decode.chain_cycle import plain
from real.gpu.alone import seconds_of
from real.gpu.book import Part, Row, row_task
from real.models.memory import explain_oom
from specsim import discover
from specsim.base.arrays import pick
from specsim.verify.lookup import takes


@dataclass(frozen=True)
class Settings:
    """Vocabulary, rows at a time, drafts (K of a step rule, gamma of a chain rule), calls in a row."""

    vocab: int = 128_256
    batches: tuple[int, ...] = (1, 8, 64)
    drafts: tuple[int, ...] = (1, 4)
    calls: int = 50


TINY = Settings(vocab=500, batches=(1, 2), calls=3)


def part(device: torch.device, *, tiny: bool) -> Part:
    """A row for each rule, batch and number of drafts."""
    settings = TINY if tiny else Settings()
    softmax = cache(partial(_softmax, settings, device))
    tasks = []
    for family, letter in (("step", "K"), ("chain", "gamma")):
        for name, rule in discover.rules(family).items():
            for batch in settings.batches:
                for count in (k for k in settings.drafts if family == "chain" or takes(rule, k)):
                    key = f"{family}/{name}/batch {batch}/{letter} {count}"
                    rows = (batch,) if family == "step" else (batch, count + 1)
                    tasks.append(row_task(key, partial(_timed, settings, device, rule, family, rows, count, softmax)))
    return Part("rules", asdict(settings), tasks)


def _softmax(settings: Settings, device: torch.device, rows: tuple[int, ...]) -> float:
    """Seconds of a softmax over rows of the vocabulary."""
    logits = _logits(settings, device, rows, 0)
    return seconds_of(lambda: torch.softmax(logits, -1), device, calls=settings.calls)


def _logits(settings: Settings, device: torch.device, rows: tuple[int, ...], seed: int) -> Tensor:
    """Random logits (*rows, vocab)."""
    generator = torch.Generator(device).manual_seed(seed)
    return 3 * torch.randn(*rows, settings.vocab, generator=generator, device=device)


def _timed(
    settings: Settings,
    device: torch.device,
    rule: Any,
    family: str,
    rows: tuple[int, ...],
    count: int,
    softmax: Callable[[tuple[int, ...]], float],
) -> Row:
    """Return the row: microseconds of preparing and verifying once, as a cycle does, and of one softmax.

    On a GPU also those of a replayed graph.
    """
    with explain_oom(f"laws of {rows} rows over {settings.vocab} tokens", f"batch {max(rows[0] // 2, 1)}"):
        p, q, drafts, u = _inputs(settings, device, rule, family, rows, count)

        def call(now: Tensor) -> Tensor:
            """Prepare and verify; return the tokens."""
            num_drafts = (count,) if family == "step" else ()
            target, draft, tokens, randomness = (plain(x) for x in (p, q, drafts, now))
            result = rule.verify(rule.prepare(target, draft, *num_drafts), tokens, randomness)
            # A chain rule returns the number of accepted drafts, too.
            return result[1] if family == "chain" else result  # type: ignore[no-any-return]

        # As eager calls, and on a GPU as a graph.
        us = {"us": 1e6 * seconds_of(lambda: call(u), device, calls=settings.calls)}
        if device.type == "cuda":
            replay: Any = graphs.captured(call, (u,))
            us["graph_us"] = 1e6 * seconds_of(lambda: replay(u), device, calls=settings.calls)
        return us | {"softmax_us": 1e6 * softmax(rows)}


def _inputs(
    settings: Settings, device: torch.device, rule: Any, family: str, rows: tuple[int, ...], count: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return p and q that differ as laws of two models do, drafts drawn from q, and the rule's uniforms.

    A step rule has p and q (b, V), with rows = (b,); a chain rule has p (b, gamma + 1, V) and
    q (b, gamma, V), with rows = (b, gamma + 1). Drafts are (b, count).
    """
    # Laws for all rows.
    logits = _logits(settings, device, rows, 0)
    p, q = logits.softmax(-1), (logits + 0.2 * _logits(settings, device, rows, 1)).softmax(-1)

    # Uniforms of the drafts and of the rule.
    generator = torch.Generator(device).manual_seed(2)
    draft_uniforms = torch.rand(rows[0], count, dtype=torch.float64, generator=generator, device=device)
    u = torch.rand(rows[0], rule.uniforms(count), dtype=torch.float64, generator=generator, device=device)

    # A chain rule has no draft at its last row; all drafts of a step rule come from one row.
    if family == "chain":
        q = q[:, :count]
        return p, q, pick(q, draft_uniforms), u
    return p, q, pick(q[:, None], draft_uniforms), u
