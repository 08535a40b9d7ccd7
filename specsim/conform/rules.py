"""The rules, draft schemes and processes of specsim, or one's own rule file, as subjects: uniforms are coins."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.conform.subject import Model, SamplingParams, Subject
from specsim.exact.process_branches import Joint
from specsim.types import Array
from specsim.verify.chain import block

DRAFTS = 2  # of a block of a decoder
PATHS = ((-1, -1), (-1, 0), (-1, 0, -1, 2))  # trees that are paths from the root
ROWS = ("independent",)  # schemes whose candidates have a law each


def subject(rule: ModuleType, scheme: str | None = None) -> Subject:
    """A step, chain or tree rule, on drafts of its own choice or another scheme that it verifies; a decoder of a chain
    rule that changes the target after its blocks, or of a process; a drafter of a scheme. ValueError for drafts whose
    number is drawn.

    Examples
    --------
    >>> from specsim.verify.chain import block
    >>> subject(block).kind
    'chain'
    """
    facts = discover.facts(rule)
    made = {"step": _step, "chain": _chain, "tree": _tree, "draft": _scheme, "process": _process}[facts.family](rule)
    made = made._replace(name=facts.name, lossless=not facts.bias)
    if facts.family in ("draft", "process") or facts.continuation:
        return made
    if scheme is not None and scheme not in facts.schemes:
        raise ValueError(f"{facts.name!r} does not verify drafts of scheme {scheme!r}; {', '.join(facts.schemes)}")
    drawn = scheme or facts.schemes[0]
    shapes = PATHS if drawn == "paths" else tuple(shape for shape in made.shapes if _can_draw(drawn, shape))
    return made._replace(randomness="coins", scheme=drawn, shapes=shapes)


def _can_draw(scheme: str, parents: tuple[int, ...]) -> bool:
    """Whether a scheme draws so many siblings as every family of a tree has."""
    if scheme not in discover.names("draft"):  # the whole tree is drawn at once
        return True
    counts = discover.scheme_facts(discover.find("draft", scheme)).counts
    return counts is None or set(Counter(parents).values()) <= set(counts)


def _step(rule: ModuleType) -> Subject:
    prepared = _remembered(rule.prepare)

    def run(p: Array, q: Array, drafts: Array, u: Array) -> Any:
        return rule.verify(prepared(p, q, len(drafts)), drafts, u)

    def batch(p: Array, q: Array, drafts: Array, u: Array) -> Any:
        return rule.verify(rule.prepare(p, q, drafts.shape[-1]), drafts, u)

    return Subject("", "step", run, coins=rule.uniforms, sizes=discover.facts(rule).counts or (1, 2, 3), batch=batch)


def _chain(rule: ModuleType) -> Subject:
    if discover.facts(rule).continuation:
        return Subject("", "decoder", _decoder(rule), sizes=(1, 2))

    def run(p: Array, q: Array, drafts: Array, u: Array) -> Any:
        return rule.verify(rule.prepare(p, q), drafts, u)

    return Subject("", "chain", run, coins=rule.uniforms, batch=run)


def _tree(rule: ModuleType) -> Subject:
    prepared = _remembered(rule.prepare)

    def run(p: Array, q: Array, tree: Any, u: Array) -> Any:
        kept, token = rule.verify(prepared(p, q, tree), u)
        node, path = int(kept) - 1, []
        while node >= 0:
            path.append(node)
            node = int(tree.parents[node])
        return path[::-1], token

    counts: dict[bytes, int] = {}  # of uniforms, which the shape alone decides

    def coins(tree: Any) -> int:
        key = np.asarray(tree.parents).tobytes()
        if key not in counts:
            counts[key] = rule.uniforms(tree)
        return counts[key]

    return Subject("", "tree", run, coins=coins)


def _decoder(rule: ModuleType) -> Callable[..., Any]:
    """Blocks, each followed by what the rule changes: those tokens are drawn one by one, and are not drafted."""

    def run(
        target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
    ) -> list[int]:
        text, end = list(prompt), len(prompt) + n
        while len(text) < end:
            gamma, drafts, q = min(DRAFTS, end - len(text) - 1), list[int](), []
            for _ in range(gamma):
                q.append(draft([*text, *drafts]))
                drafts.append(int(random.choice(target.vocab, p=q[-1])))
            p = target.rows([*text, *drafts], len(text))
            plan = rule.prepare(p, np.reshape(q, (gamma, target.vocab)))
            u = np.array([random.random() for _ in range(rule.uniforms(gamma))], dtype=object)
            kept, token = rule.verify(plan, np.array(drafts, dtype=np.int64), u)
            above, below = rule.continuation(plan, np.array(drafts, dtype=np.int64), kept, token)
            text += [*drafts[: int(kept)], int(token)]
            for _ in range(gamma - int(kept) - 1):
                p, row = target(text), draft(text)
                law = (above * p - below * row).clip(0)
                text.append(int(random.choice(target.vocab, p=law / law.sum())))
                above, below = above * p[text[-1]], below * row[text[-1]]
        return text[len(prompt) :]

    return run


def _process(process: ModuleType) -> Subject:
    """A decoder: the process with block verification, in one of the cases that it names, by the length of the text."""
    cases = discover.process_cases(process)

    def run(
        target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
    ) -> list[int]:
        joint = {name: _after(model, prompt, n) for name, model in (("target", target), ("draft", draft))}
        state = process.start(n, **cases[n % len(cases)])
        while (state.filled < n).any():
            asked, count = process.ask(state), process.uniforms(state, block)
            u = np.array([[random.random() for _ in range(count)]], dtype=object).reshape(1, count)
            rows = np.asarray(joint[asked.model].rows(asked), dtype=np.float64)
            state = process.advance(state, rows, block, u)
        return [int(token) for token in state.text[0]]

    return Subject("", "decoder", run, sizes=(1, 2))


def _after(model: Model, prompt: Any, n: int) -> Joint:
    return Joint(lambda text: model((*prompt, *text)), model.vocab, n)


def _scheme(scheme: ModuleType) -> Subject:
    """The candidates of one place, in order; the rows are the laws that `probability` gives each after those before."""
    facts = discover.facts(scheme)
    if "distinct" in facts.name:
        raise ValueError(f"{facts.name!r} draws a number of drafts: it is judged with the rules that verify it")
    laws = _remembered(lambda q, _, count: _conditional(scheme, q, count))

    def run(draft: Model, prompt: Any, count: int, sampling_params: SamplingParams, u: Array) -> Any:
        q = np.stack([draft([*prompt, *[0] * k]) for k in range(count)]) if facts.name in ROWS else draft(prompt)
        drafts = [int(x) for x in scheme.draw(q, u, count)]
        after = laws(q, q, count)
        return drafts, np.array([after[tuple(drafts[:k])] for k in range(count)])

    return Subject("", "drafter", run, randomness="coins", coins=scheme.uniforms, sizes=facts.counts or (1, 2, 3))


def _conditional(scheme: ModuleType, q: Array, count: int) -> dict[tuple[int, ...], Array]:
    """Law of the candidate after every beginning that can be drawn."""
    out: dict[tuple[int, ...], Array] = {}
    for drafts in itertools.product(range(q.shape[-1]), repeat=count):
        mass = float(scheme.probability(q, np.array(drafts), count))
        for k in range(count):
            out.setdefault(drafts[:k], np.zeros(q.shape[-1]))[drafts[k]] += mass
    return {text: law / law.sum() for text, law in out.items() if law.sum() > 0}


def _remembered(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """The last plan is kept: an input is followed along all of its paths, and there are no coins in its plan."""
    last: dict[Any, Any] = {}

    def plan(p: Array, q: Array, drafted: Any) -> Any:
        trees = (drafted.tokens, drafted.parents) if hasattr(drafted, "parents") else (drafted,)
        key = tuple((np.shape(one), np.asarray(one).tobytes()) for one in (p, q, *trees))
        if key not in last:
            last.clear()
            last[key] = prepare(p, q, drafted)
        return last[key]

    return plan
