"""The rules of specsim, or one's own rule file, as subjects: their uniforms are coins."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from specsim import discover
from specsim.conform.subject import Subject
from specsim.types import Array


def subject(rule: ModuleType) -> Subject:
    """A step, chain or tree rule; ValueError for a draft scheme, or a rule that changes the target after its blocks.

    Examples
    --------
    >>> from specsim.verify.chain import block
    >>> subject(block).kind
    'chain'
    """
    facts = discover.facts(rule)
    if facts.family == "draft":
        raise ValueError(f"{facts.name!r} is a draft scheme, not a rule: nothing is verified by it")
    if facts.continuation:
        raise ValueError(f"{facts.name!r} changes the target after a block: it is to be judged as a decoder")
    made = {"step": _step, "chain": _chain, "tree": _tree}[facts.family](rule)
    return made._replace(name=facts.name, randomness="coins", lossless=not facts.bias)


def _step(rule: ModuleType) -> Subject:
    facts = discover.facts(rule)

    def run(p: Array, q: Array, drafts: Array, u: Array) -> Any:
        return rule.verify(rule.prepare(p, q, len(drafts)), drafts, u)

    def batch(p: Array, q: Array, drafts: Array, u: Array) -> Any:
        return rule.verify(rule.prepare(p, q, drafts.shape[-1]), drafts, u)

    counts = facts.counts or (1, 2, 3)
    return Subject("", "step", run, coins=rule.uniforms, sizes=counts, scheme=facts.schemes[0], batch=batch)


def _chain(rule: ModuleType) -> Subject:
    def run(p: Array, q: Array, drafts: Array, u: Array) -> Any:
        return rule.verify(rule.prepare(p, q), drafts, u)

    return Subject("", "chain", run, coins=rule.uniforms, batch=run)


def _tree(rule: ModuleType) -> Subject:
    scheme = discover.facts(rule).schemes[0]

    def run(p: Array, q: Array, tree: Any, u: Array) -> Any:
        kept, token = rule.verify(rule.prepare(p, q, tree), u)
        node, path = int(kept) - 1, []
        while node >= 0:
            path.append(node)
            node = int(tree.parents[node])
        return path[::-1], token

    shapes = ((-1, -1), (-1, 0), (-1, 0, -1, 2)) if scheme == "paths" else ((-1, -1), (-1, 0), (-1, -1, 0))
    return Subject("", "tree", run, coins=rule.uniforms, scheme=scheme, shapes=shapes)
