"""Cycles of fixed shapes: on a GPU captured once and replayed as one graph, on a CPU simply called.

The host waits once a cycle, for the outcome. A graph is captured for the length of the options, before the first text
is read; the few shorter blocks at a text's end run in ordinary calls. Captured graphs can be kept for the next texts
of the same shape.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from real.decode.chain_cycle import Verifier
from real.decode.draft import readable
from real.decode.fixed import Fixed, cycle, made
from real.decode.options import DecodeOptions
from real.decode.proposer import Draw
from real.decode.tree_plan import TreeVerifier
from real.decode.trees_block import Trees
from real.decode.trees_block import cycle as tree_cycle
from real.decode.warp import Warping
from real.models.model import LanguageModel

# Capacities are multiples of this: texts of about one length share their graphs, and masks are aligned.
_ROUND = 64
Run = Callable[..., Tensor]


def supports(target: LanguageModel, draft: LanguageModel | None, warping: Warping) -> bool:
    """Return whether a cycle can have fixed shapes: both models on the fast path, no repetition penalty, no bias.

    A graph keeps addresses, and the table of a bias may be dropped while the graph lives.
    """
    models = [target] if draft is None else [target, draft]
    fast = all(m.weights is not None for m in models)
    return fast and warping.repetition_penalty == 1 and not warping.logit_bias


@dataclass(frozen=True, eq=False)
class Engine:
    """Cycles that are ready to run: their caches, graphs for some lengths, and the memory that graphs share.

    run: the cycle of a number of drafts, or levels of a tree, on texts and uniforms. pool: the memory of all graphs,
    which run one at a time. `fixed` has no reference to `run` and `graphs`, which refer to it: memory is freed with the
    last of them.
    """

    fixed: Fixed
    run: Callable[[int, Tensor, Tensor], Tensor]
    graphs: dict[int, Run] = field(default_factory=dict)
    pool: Any = None


class Kept:
    """Engines of earlier calls of the decode loop, for the next calls of the same shape.

    Parameters
    ----------
    most : int
        Engines to keep; the one that was used longest ago goes first.
    """

    def __init__(self, most: int = 4) -> None:
        self._most = most
        self._engines: list[Engine] = []

    def take(self, **wanted: Any) -> Engine | None:
        """Take out an engine of these models, batch, warping, rule, draw and capacity, emptied; None without one."""
        for place, engine in enumerate(self._engines):
            if _fits(engine.fixed, **wanted):
                del self._engines[place]
                _emptied(engine.fixed)
                return engine
        return None

    def give(self, engine: Engine) -> None:
        """Keep an engine that is not in use."""
        self._engines = [*self._engines, engine][-self._most :] if self._most else []

    def clear(self) -> None:
        """Drop all engines, and free their memory."""
        self._engines = []

    def __len__(self) -> int:
        """Engines kept."""
        return len(self._engines)


def _fits(
    fixed: Fixed,
    target: LanguageModel,
    draft: LanguageModel | None,
    batch: int,
    warping: Warping,
    rule: Verifier | TreeVerifier,
    draw: Draw,
    capacity: int,
) -> bool:
    """Return whether an engine's record is that of these arguments."""
    same = fixed.models["target"] is target and fixed.models.get("draft") is draft
    size = fixed.sequences.shape[0], fixed.caches["target"].kv.shape[4]
    # A tree's rule is made anew for each text; another of the same shape, scheme and step does the same.
    alike = fixed.rule is rule or (isinstance(rule, TreeVerifier) and fixed.rule == rule)
    work = fixed.warping == warping and alike and fixed.draw is draw
    return same and work and size == (batch, capacity)


def _emptied(fixed: Fixed) -> None:
    """Empty the caches at the same addresses: a NaN of an earlier text would spread through the masks."""
    with torch.inference_mode():
        for cache in fixed.caches.values():
            cache.lengths = [0] * len(cache.lengths)
            cache.kv.zero_()


def _engine(kept: Kept | None, **wanted: Any) -> Engine:
    """Return a kept engine, or make one; if memory is short, kept engines are dropped first."""
    engine = None if kept is None else kept.take(**wanted)
    if engine is not None:
        return engine
    pool = torch.cuda.graph_pool_handle() if wanted["target"].device.type == "cuda" else None
    try:
        return _engine_on(made(**wanted), pool)
    except (ValueError, MemoryError):
        if not kept:
            raise
        kept.clear()
    return _engine_on(made(**wanted), pool)


def _engine_on(fixed: Fixed, pool: Any) -> Engine:
    """Return the engine of chains or trees on these caches, without graphs."""
    trees = isinstance(fixed.rule, TreeVerifier)
    return Engine(fixed, partial(tree_cycle, Trees(fixed, fixed.rule)) if trees else partial(cycle, fixed), pool=pool)


class Graphs:
    """A `real.decode.chain_cycle.Cycle` of fixed shapes, of chains or of trees.

    The rule is a chain rule or a `TreeVerifier`; blocks of `options.gamma` drafts are captured. longest: positions that
    texts may reach. The engine comes from `options.kept` and goes back there when this is let go.
    """

    def __init__(
        self,
        target: LanguageModel,
        draft: LanguageModel | None,
        batch: int,
        longest: int,
        options: DecodeOptions,
    ) -> None:
        rule, gamma = options.rule, options.gamma
        kept: Kept | None = options.kept
        most = rule.nodes(gamma) if isinstance(rule, TreeVerifier) else gamma
        # Texts that wait may run past their end.
        capacity = _ROUND * math.ceil((longest + most + 1) / _ROUND)
        self._engine = _engine(
            kept,
            target=target,
            draft=draft,
            batch=batch,
            warping=options.warping,
            rule=rule,
            draw=options.draw,
            capacity=capacity,
        )
        self._mark = options.mark
        self._capture(gamma)
        if kept is not None:
            # Also if the loop is driven by hand, and has no end.
            weakref.finalize(self, kept.give, self._engine).atexit = False

    @property
    def fixed(self) -> Fixed:
        """Models, caches and options of the cycles."""
        return self._engine.fixed

    def read(self, i: int, text: list[int]) -> None:
        """Read the beginning of text i."""
        for name, model in self.fixed.models.items():
            tokens = torch.tensor([text], device=model.device)
            if text:
                self.fixed.caches[name].forward(readable(model, tokens), 0, [i])

    def run(self, texts: Sequence[list[int]], group: list[int], length: int, u: Tensor) -> list[list[int]]:
        """Draft and verify for the texts of a group; the other texts run along without effect."""
        whole = torch.zeros(len(texts), u.shape[1], dtype=u.dtype)
        whole[group] = u.cpu()
        now = torch.tensor([[text[-2:][0], text[-1], len(text) - 1] for text in texts]), whole
        self._mark("host")
        rows = self._cycle(length)(*now).tolist()
        self._mark("verify")
        for i in group:
            self.fixed.caches["target"].lengths[i] = len(texts[i]) + length
        return [rows[i] for i in group]

    def rollback(self, i: int, length: int) -> None:
        """Forget positions of text i."""
        self.fixed.caches["target"].rollback(i, length)

    def _cycle(self, length: int) -> Run:
        """The cycle of `length` drafts: its graph if it was captured, else the function."""
        where, function = self.fixed.sequences.device, self._function(length)
        return self._engine.graphs.get(length, lambda *now: function(*(x.to(where) for x in now)))

    def _function(self, length: int) -> Run:
        """The cycle of `length` drafts in ordinary calls."""
        function: Run = torch.inference_mode()(partial(self._engine.run, length))
        return function

    def _capture(self, length: int) -> None:
        """Capture the cycle of `length` drafts, unless an earlier call has, on empty texts, which leave nothing."""
        engine, batch = self._engine, len(self.fixed.sequences)
        if length in engine.graphs:
            return
        texts = torch.zeros(batch, 3, dtype=torch.int64, device=self.fixed.sequences.device)
        u = texts.new_zeros(batch, length + self.fixed.rule.uniforms(length), dtype=torch.float64)
        engine.graphs[length] = captured(self._function(length), (texts, u), engine.pool)
        _emptied(engine.fixed)


def captured(function: Run, arguments: tuple[Tensor, ...], pool: Any = None) -> Run:
    """The function as a graph that replays on new values of its arguments; on a CPU, the function itself.

    Parameters
    ----------
    function : callable
        Of tensors, to a tensor; of fixed shapes.
    arguments : tuple of Tensor
        On the device.
    pool : optional
        Memory shared with other graphs, none of which runs at the same time.

    Returns
    -------
    callable
        Takes arguments of these shapes, on the device or on the host; those of the host must not change before the
        result was waited for.
    """
    if not arguments[0].is_cuda:
        return function
    held = tuple(x.clone() for x in arguments)
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    # Libraries set themselves up in the first calls, which cannot be captured.
    with torch.cuda.stream(stream):
        for _ in range(3):
            function(*held)
    torch.cuda.current_stream().wait_stream(stream)
    # Capture; replays copy new arguments to the same addresses.
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        out = function(*held)
    pinned = tuple(torch.empty(x.shape, dtype=x.dtype, pin_memory=True) for x in held)

    def replay(*now: Tensor) -> Tensor:
        """Copy the arguments to the graph's own, and replay it."""
        for mine, stage, new in zip(held, pinned, now, strict=True):
            mine.copy_(new if new.is_cuda else stage.copy_(new), non_blocking=True)
        graph.replay()
        return out

    return replay
