"""Rules, draft schemes and processes of specsim, and users' rule files, as subjects: uniforms are coins."""

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

# Drafts of a block of a decoder.
DRAFTS = 2
# Parents of trees that are whole paths from the root.
PATHS = ((-1, -1), (-1, 0), (-1, 0, -1, 2))
# Schemes whose candidates have a law each.
ROWS = ("independent",)


def subject(rule: ModuleType, scheme: str | None = None) -> Subject:
    """Return the subject of a rule, a draft scheme or a process.

    A step, chain or tree rule verifies drafts of its first scheme, or of `scheme`. A process is a
    decoder, and so is a chain rule that changes the target after its blocks. A scheme is a drafter;
    ValueError if it draws the number of its drafts.

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
    # Shapes of trees that the scheme can draw.
    drawn = scheme or facts.schemes[0]
    shapes = PATHS if drawn == "paths" else tuple(shape for shape in made.shapes if _can_draw(drawn, shape))
    return made._replace(randomness="coins", scheme=drawn, shapes=shapes)


def _can_draw(scheme: str, parents: tuple[int, ...]) -> bool:
    """Return whether a scheme draws as many siblings as every family of a tree has."""
    # Other schemes draw the whole tree at once.
    if scheme not in discover.names("draft"):
        return True
    counts = discover.scheme_facts(discover.find("draft", scheme)).counts
    return counts is None or set(Counter(parents).values()) <= set(counts)


def _step(rule: ModuleType) -> Subject:
    """Return the subject of a step rule; alone it remembers its plan, in a batch it takes rows."""
    prepared = _remembered(rule.prepare)

    def run(p: Array, q: Array, drafts: Array, u: Array) -> Any:
        """Verify the drafts of one position."""
        return rule.verify(prepared(p, q, len(drafts)), drafts, u)

    def batch(p: Array, q: Array, drafts: Array, u: Array) -> Any:
        """Verify the drafts of many rows."""
        return rule.verify(rule.prepare(p, q, drafts.shape[-1]), drafts, u)

    return Subject("", "step", run, coins=rule.uniforms, sizes=discover.facts(rule).counts or (1, 2, 3), batch=batch)


def _chain(rule: ModuleType) -> Subject:
    """Return the subject of a chain rule."""
    if discover.facts(rule).continuation:
        return Subject("", "decoder", _decoder(rule), sizes=(1, 2))

    def run(p: Array, q: Array, drafts: Array, u: Array) -> Any:
        """Verify a row of drafts, or many."""
        return rule.verify(rule.prepare(p, q), drafts, u)

    return Subject("", "chain", run, coins=rule.uniforms, batch=run)


def _tree(rule: ModuleType) -> Subject:
    """Return the subject of a tree rule, which returns the path from the root to the node where it stops."""
    prepared = _remembered(rule.prepare)

    def run(p: Array, q: Array, tree: Any, u: Array) -> Any:
        """Verify a tree; return the accepted path and the next token."""
        stop, token = rule.verify(prepared(p, q, tree), u)
        node, path = int(stop) - 1, []
        while node >= 0:
            path.append(node)
            node = int(tree.parents[node])
        return path[::-1], token

    # Shape of a tree -> its number of uniforms, which the shape alone decides.
    counts: dict[bytes, int] = {}

    def coins(tree: Any) -> int:
        """Return the number of uniforms that the rule takes for a tree."""
        key = np.asarray(tree.parents).tobytes()
        if key not in counts:
            counts[key] = rule.uniforms(tree)
        return counts[key]

    return Subject("", "tree", run, coins=coins)


def _decoder(rule: ModuleType) -> Callable[..., Any]:
    """Return a decoder: blocks, each followed by tokens of the law that the rule leaves for them.

    Those tokens are drawn one by one, and are not drafted.
    """

    def run(
        target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
    ) -> list[int]:
        """Return n tokens after the prompt."""
        text, end = list(prompt), len(prompt) + n
        while len(text) < end:
            # Draft a block, token by token.
            gamma = min(DRAFTS, end - len(text) - 1)
            drafts, q = list[int](), []
            for _ in range(gamma):
                q.append(draft([*text, *drafts]))
                drafts.append(int(random.choice(target.vocab, p=q[-1])))

            # Verify it.
            p = target.rows([*text, *drafts], len(text))
            plan = rule.prepare(p, np.reshape(q, (gamma, target.vocab)))
            u = np.array([random.random() for _ in range(rule.uniforms(gamma))], dtype=object)
            num_accepted, token = rule.verify(plan, np.array(drafts, dtype=np.int64), u)
            block_drafts = np.array(drafts, dtype=np.int64)
            above, below = rule.continuation(plan, block_drafts, num_accepted, token)
            text += [*drafts[: int(num_accepted)], int(token)]

            # The tokens that the block would still have had follow (above p - below q)+,
            # normalised.
            for _ in range(gamma - int(num_accepted) - 1):
                p, row = target(text), draft(text)
                law = (above * p - below * row).clip(0)
                text.append(int(random.choice(target.vocab, p=law / law.sum())))
                above, below = above * p[text[-1]], below * row[text[-1]]
        return text[len(prompt) :]

    return run


def _process(process: ModuleType) -> Subject:
    """Return a decoder: the process with block verification, in one of its cases, by the length of the text."""
    cases = discover.process_cases(process)

    def run(
        target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
    ) -> list[int]:
        """Return n tokens after the prompt."""
        # Both models as joint laws of the whole text.
        joint = {name: _after(model, prompt, n) for name, model in (("target", target), ("draft", draft))}
        state = process.start(n, **cases[n % len(cases)])
        # Passes, until every place is filled.
        while (state.filled < n).any():
            request, count = process.ask(state), process.uniforms(state, block)
            u = np.array([[random.random() for _ in range(count)]], dtype=object).reshape(1, count)
            rows = np.asarray(joint[request.model].rows(request), dtype=np.float64)
            state = process.advance(state, rows, block, u)
        return [int(token) for token in state.text[0]]

    return Subject("", "decoder", run, sizes=(1, 2))


def _after(model: Model, prompt: Any, n: int) -> Joint:
    """Return the joint law of n tokens after a prompt."""
    return Joint(lambda text: model((*prompt, *text)), model.vocab, n)


def _scheme(scheme: ModuleType) -> Subject:
    """Return a drafter: the candidates of one place, in order.

    Its rows are the laws that `probability` gives each candidate after those before it.
    """
    facts = discover.facts(scheme)
    if "distinct" in facts.name:
        raise ValueError(f"{facts.name!r} draws a number of drafts: it is judged with the rules that verify it")
    laws = _remembered(lambda q, _, count: _conditional(scheme, q, count))

    def run(draft: Model, prompt: Any, count: int, sampling_params: SamplingParams, u: Array) -> Any:
        """Draw the candidates; return them with their rows."""
        q = np.stack([draft([*prompt, *[0] * k]) for k in range(count)]) if facts.name in ROWS else draft(prompt)
        drafts = [int(x) for x in scheme.draw(q, u, count)]
        law_after = laws(q, q, count)
        return drafts, np.array([law_after[tuple(drafts[:k])] for k in range(count)])

    return Subject("", "drafter", run, randomness="coins", coins=scheme.uniforms, sizes=facts.counts or (1, 2, 3))


def _conditional(scheme: ModuleType, q: Array, count: int) -> dict[tuple[int, ...], Array]:
    """Return the law of the next candidate after every beginning that can be drawn."""
    laws: dict[tuple[int, ...], Array] = {}
    for drafts in itertools.product(range(q.shape[-1]), repeat=count):
        mass = float(scheme.probability(q, np.array(drafts), count))
        for k in range(count):
            laws.setdefault(drafts[:k], np.zeros(q.shape[-1]))[drafts[k]] += mass
    return {text: row / row.sum() for text, row in laws.items() if row.sum() > 0}


def _remembered(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """Return `prepare` with a cache of its last plan.

    The judge runs a subject many times on one input, along all paths of its coins; the plan depends
    on the input alone.
    """
    # The last input, as shapes and bytes of its arrays -> its plan.
    cache: dict[Any, Any] = {}

    def plan(p: Array, q: Array, drafted: Any) -> Any:
        """Return the plan of laws p and q and of what is drafted: a tree, drafts, or their number."""
        drafted_arrays = (drafted.tokens, drafted.parents) if hasattr(drafted, "parents") else (drafted,)
        key = tuple((np.shape(array), np.asarray(array).tobytes()) for array in (p, q, *drafted_arrays))
        if key not in cache:
            cache.clear()
            cache[key] = prepare(p, q, drafted)
        return cache[key]

    return plan
