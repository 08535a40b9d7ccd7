"""Trees in the decode loop: the draft writes level by level, the target reads all nodes in one pass.

Slots.   A text of L tokens has its last token, the root (row 0), at slot L-1 of both caches; node i lies at slot L+i,
         whatever its depth, and is rotated for position L-1+depth. A row sees the slots before L-1 and those of its
         ancestors.
Path.    What the rule keeps is moved to slots L, L+1, ...: the caches are again those of a text. Leaves, which the
         draft does not read, are read in its next block, which begins with the last two tokens of the text.
Shapes.  They follow from the plan and the batch; where texts stand is data. Nothing is read back before the outcome,
         so that a graph can hold the cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from array_api_compat import array_namespace, device
from torch import Tensor

from real.decode import graphs
from real.decode.clock import silent
from real.decode.cycle import plain
from real.decode.draft import readable
from real.decode.tree_plan import Level, TreePlan, TreeVerifier
from real.decode.warp import Warping, probabilities
from real.models import llama
from real.models.model import LanguageModel, fit_logits
from real.models.store import layers
from specsim.trees._siblings import drawn, reported
from specsim.types import Array


class _Texts(NamedTuple):
    """Where the texts of one cycle stand."""

    last: Tensor  # (b, 2) their last two tokens
    root: Tensor  # (b,) slot of the last
    sequences: Tensor  # (b, 1) their rows of the caches
    take: Tensor | None  # (b,) the same, if they are not all
    span: int  # slots that are looked at


class TreeCycle:
    """A cycle whose blocks are trees of one shape, cut to the levels that can still be used.

    Parameters
    ----------
    target, draft, batch, warping, rule, mark
        As for `real.decode.cycle.Eager`; the rule is a `TreeVerifier`, and the draft None only in plain decoding.
    longest : int
        Positions that texts may reach.
    gamma : int
        Levels of a tree at most.
    fixed : bool
        Run every text in every cycle, in shapes that do not depend on where it stands; a GPU captures them.
    """

    def __init__(
        self,
        target: LanguageModel,
        draft: LanguageModel | None,
        batch: int,
        warping: Warping,
        rule: TreeVerifier,
        mark: Callable[[str], None],
        longest: int,
        gamma: int,
        fixed: bool,
    ) -> None:
        self._models = {"target": target} | ({} if draft is None else {"draft": draft})
        self._caches = {name: model.cache(batch) for name, model in self._models.items()}
        self._capacity = longest + len(rule.plan(gamma).parents) + 1
        for cache in self._caches.values():
            cache.reserve(self._capacity)
        self._warping, self._rule, self._told, self._mark = warping, rule, rule.told, mark
        self._fixed, self._phase = fixed, silent if fixed else mark  # a graph has no phases
        self._plain: Callable[[Tensor], Array] = _itself if fixed else plain
        self._sequences = torch.arange(batch, device=target.device)[:, None]
        self._held: dict[int, tuple[TreePlan, TreePlan]] = {}
        self._replay: dict[int, Callable[[Tensor, Tensor, Tensor], Tensor]] = {}

    def read(self, i: int, text: list[int]) -> None:
        """Read the beginning of text i."""
        for name, model in self._models.items():
            if text:
                self._caches[name].forward(readable(model, torch.tensor([text], device=model.device)), 0, [i])

    def run(self, texts: Sequence[list[int]], group: list[int], length: int, u: Tensor) -> list[list[int]]:
        """Draft a tree of `length` levels after each text of a group, and verify it.

        The row of a text: how many levels are kept, the next token, the tokens of the kept path (those beyond mean
        nothing), and for each depth whether its logits were finite, the target's, then the draft's.
        """
        which, where = list(range(len(texts))) if self._fixed else group, self._sequences.device
        last = torch.tensor([[texts[i][-2:][0], texts[i][-1]] for i in which], device=where)
        root = torch.tensor([len(texts[i]) - 1 for i in which], device=where)
        self._mark("host")
        if self._fixed:
            whole = torch.zeros(len(texts), u.shape[1], dtype=u.dtype, device=where)
            whole[group] = u.to(where)
            rows = self._replayed(length, last, root, whole).tolist()
            self._mark("verify")
            return [rows[i] for i in group]
        sequences = self._sequences if len(group) == len(self._sequences) else self._sequences[group]
        take = None if sequences is self._sequences else sequences[:, 0]
        span = max(len(texts[i]) for i in group) + len(self._rule.plan(length).parents)
        out: list[list[int]] = self._block(length, _Texts(last, root, sequences, take, span), u.to(where)).tolist()
        self._mark("rule")
        return out

    def rollback(self, i: int, length: int) -> None:
        """Forget positions of text i: the kept path is in its place, and the next cycle says where the text stands."""

    def _replayed(self, length: int, last: Tensor, root: Tensor, u: Tensor) -> Tensor:
        """The block of all texts, in fixed shapes."""

        def block(last: Tensor, root: Tensor, u: Tensor) -> Tensor:
            out: Tensor = self._block(length, _Texts(last, root, self._sequences, None, self._capacity), u)
            return out

        if not root.is_cuda:
            return block(last, root, u)
        if length not in self._replay:
            self._replay[length] = graphs.captured(torch.inference_mode()(block), (last, root, u))
        return self._replay[length](last, root, u)

    @torch.inference_mode()
    def _block(self, length: int, texts: _Texts, u: Tensor) -> Array:
        """The rows of `run` for trees of `length` levels, from uniforms (b, count)."""
        uniforms, rule = self._plain(u), self._rule.rule
        here, plan = self._plans(length, texts.root, uniforms)
        tokens, laws, tops = self._draft(here, plan, texts, uniforms)
        xp, read = array_namespace(tokens), torch.cat([texts.last[:, 1:], _tensor(tokens).clamp(min=0)], 1)
        logits = self._logits("target", here, texts, torch.arange(len(plan.sees), device=u.device), read)
        self._phase("verify")
        p = self._plain(probabilities(logits, self._warping))
        q = xp.concat(laws, axis=1)[:, plan.law] if laws else p
        tree = plan.tree(tokens, self._rule.scheme)
        prepared = rule.prepare(p, xp.astype(q, p.dtype, copy=False), tree, **self._told)
        node, token = rule.verify(prepared, uniforms[:, plan.drawn :])
        path = plan.path[node]
        if plan.moves:
            _move([cache.kv for cache in self._caches.values()], texts, _tensor(path))
        tops = self._plain(torch.cat([logits.amax(-1), *(top.to(logits.dtype) for top in tops)], 1).float())
        bad = ~xp.isfinite(tops)[:, None, :] & plan.by_level
        fine = xp.astype(~xp.any(bad, axis=-1), tokens.dtype)
        kept = plan.depth[node]
        return xp.concat([kept[:, None], token[:, None], xp.take_along_axis(tokens, path, axis=1), fine], axis=1)

    def _plans(self, length: int, root: Tensor, uniforms: Array) -> tuple[TreePlan, TreePlan]:
        """The plan as the models need it, and as draws and rule do; made once, before a graph is captured."""
        if length not in self._held:
            plan = self._rule.plan(length)
            self._held[length] = plan.held(root), plan.held(uniforms)
        return self._held[length]

    def _draft(
        self, here: TreePlan, plan: TreePlan, texts: _Texts, u: Array
    ) -> tuple[Array, list[Array], list[Tensor]]:
        """Tokens (b, n), -1 where a node is absent; level by level the laws (b, W, V) and the largest logits (b, W)."""
        xp, laws, tops = array_namespace(u), list[Array](), list[Tensor]()
        tokens = xp.full((u.shape[0], len(plan.parents)), -1, dtype=xp.int64, device=device(u))
        for read, level in zip(here.levels, plan.levels, strict=True):
            if not laws:
                logits = self._root_logits(texts)
            else:
                logits = self._logits("draft", here, texts, read.rows, _tensor(tokens[:, level.above]).clamp(min=0))
            self._phase("draft")
            law = self._plain(probabilities(logits, self._warping))
            self._draw(level, law, u, tokens, root=not laws)
            laws.append(reported(self._rule.scheme, law, 1))
            tops.append(logits.amax(-1))
            self._phase("sample")
        return tokens, laws, tops

    def _draw(self, level: Level, law: Array, u: Array, tokens: Array, *, root: bool) -> None:
        """Draw the children of a level's nodes from their laws (b, W, V); below absent nodes they are absent."""
        for family in level.families:
            rows = law if len(level.families) == 1 else law[:, family.places]
            count = family.children.shape[1]
            new = drawn(self._rule.scheme, rows, u[:, family.uniforms], count, self._rule.draws)
            if isinstance(new, Tensor):
                new = new.clamp(max=law.shape[-1] - 1)  # of rows without a law, which are told of later
            if not root:
                new = array_namespace(new).where(tokens[:, family.above, None] >= 0, new, -1)
            tokens[:, family.children] = new

    def _root_logits(self, texts: _Texts) -> Tensor:
        """Logits (b, 1, V) of the draft after the texts: it reads two tokens, for it may not have seen the first."""
        slots = torch.stack([(texts.root - 1).clamp(min=0), texts.root], 1)
        weights = self._models["draft"].weights
        assert weights is not None  # `check_trees` was asked
        place = llama.ragged(weights, slots, texts.sequences, texts.span)._replace(take=texts.take)
        return self._forward("draft", place, texts, texts.last, 1)

    def _logits(self, name: str, plan: TreePlan, texts: _Texts, rows: Tensor, tokens: Tensor) -> Tensor:
        """Logits (b, m, V) after tokens (b, m) at these rows (m,) of the trees."""
        weights = self._models[name].weights
        assert weights is not None
        slots = texts.root[:, None] + rows
        positions = texts.root[:, None] + plan.depth[rows]
        known = positions.clamp(max=weights.cos.shape[0] - 1)  # a text that waits may stand past the context
        # Of each slot, which column of `sees` it is: what lies before the root is the first, what lies beyond the last.
        relative = torch.arange(texts.span, device=rows.device) - texts.root[:, None]
        bias = torch.zeros(plan.sees.shape, dtype=weights.cos.dtype, device=rows.device)
        bias = bias.masked_fill_(~plan.sees, -torch.inf)[rows]
        mask, near = bias[:, (relative + 1).clamp(0, bias.shape[1] - 1)].transpose(0, 1)[:, None], None
        if weights.window is not None:  # which counts positions, not slots
            deep = torch.where(relative > 0, plan.depth[relative.clamp(0, len(plan.depths))], relative)
            near = llama.nearby(weights, mask, positions, (texts.root[:, None] + deep)[:, None, None])
        place = llama.Place(weights.cos[known], weights.sin[known], mask, (texts.sequences, slots), texts.take, near)
        return self._forward(name, place, texts, tokens, len(rows))

    def _forward(self, name: str, place: llama.Place, texts: _Texts, tokens: Tensor, rows: int) -> Tensor:
        model, kv = self._models[name], self._caches[name].kv
        weights = model.weights
        assert weights is not None
        new = [(k.transpose(1, 2), v.transpose(1, 2)) for k, v in layers(kv)]
        seen = layers(kv[..., : texts.span, :])
        hidden = llama.forward(weights, seen, new, place, readable(model, tokens), rows)
        return fit_logits(llama.linear(hidden, weights.head, weights.head_bias), model.vocab_size)


def _itself(w: Tensor) -> Tensor:
    return w


def _tensor(w: Array) -> Tensor:
    return w if isinstance(w, Tensor) else torch.from_numpy(w)


def _move(caches: list[Tensor], texts: _Texts, path: Tensor) -> None:
    """Bring keys and values of a path's nodes (b, D) behind the root: all are read before the first is written."""
    first = texts.root[:, None] + 1
    goal, source = first + torch.arange(path.shape[1], device=path.device), first + path
    for kv in caches:
        by_slot = kv.transpose(3, 4)  # (2, layers, batch, slots, kv heads, head_dim)
        moved = by_slot[:, :, texts.sequences, source]
        by_slot[:, :, texts.sequences, goal] = moved
