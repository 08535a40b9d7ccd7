"""One call of a subject: what it is passed, and what its answer means. An answer that means nothing is `Broken`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from specsim.conform import libraries
from specsim.conform.cases import Case
from specsim.conform.subject import Model, Subject
from specsim.conform.toys import Text, Toy
from specsim.exact.tree import drawn_trees, texts
from specsim.types import Array, TokenTree


class Broken(Exception):
    """The subject raised, hung, or returned no token ids; the message says which."""


class TooSlow(Broken):
    """One call used more of the processor than a call is given."""


class Input(NamedTuple):
    """One drafted tree with its rows, and the probability of drawing it; of a decoder nothing is drafted."""

    tree: TokenTree | None
    p: Array  # (n+1, V): row 0 after the root; as they are passed: before sampling_params, if the subject warps
    q: Array | None
    weight: float


class Answer(NamedTuple):
    """The tokens emitted, how many of them are drafts, and the passes of the target that it took."""

    text: Text
    kept: int
    passes: int = 1
    q: tuple[tuple[float, ...], ...] | None = None  # of a drafter: the rows that it returned
    logprobs: tuple[float, ...] | None = None  # those that it reports, to six digits


def inputs(subject: Subject, case: Case) -> list[Input]:
    """Everything that can be drafted in a case."""
    if subject.kind in ("decoder", "drafter"):
        return [Input(None, np.zeros((0, case.target.vocab)), None, 1.0)]
    out = []
    for tree, rows, weight in drawn_trees(case.q, case.parents, subject.scheme):
        after = [case.prompt + text for text in texts(tree)]
        before = subject.warps or (subject.masks and case.mask is not None)  # the subject is to change them itself
        p = np.stack([case.target.law(text) if before else case.p(text[len(case.prompt) :]) for text in after])
        q = np.stack([case.draft.law(text) for text in after]) if before else np.asarray(rows)
        out.append(Input(tree, p, q if subject.takes_q else None, float(weight)))
    return out


def call(subject: Subject, case: Case, given: Input, random: Any) -> Answer:
    """Run the subject once; `random` is a NumPy generator, or the stand-in for one."""
    more, named = randomness(subject, case, given.tree, random), keywords(subject, case, given.tree)
    run = subject.run() if subject.stateful else subject.run
    if subject.kind == "drafter":
        draft = model(case.draft)
        return _drafted(case, run(draft, case.prompt, case.size, case.sampling_params, *more))
    if given.tree is None:
        target, draft = model(case.target), model(case.draft)
        most = case.limit or case.size + 1
        found, said = _reported(subject, run(target, draft, case.prompt, most, case.sampling_params, *more, **named))
        text = tokens(found, case.target.vocab, most if not subject.block else 10**6)
        return Answer(text, max(len(text) - max(target.passes, 1), 0), target.passes, logprobs=said)
    found, said = _reported(subject, run(*passed(subject, given), *more, **named))
    return answer(subject, case, given.tree, found)._replace(logprobs=said)


# Models by the identity of their tables, which are kept with them, so that no other table gets the same identity.
_MODELS: dict[int, tuple[Toy, Model]] = {}


def model(toy: Toy, *, new: bool = True) -> Model:
    """Return the model of a table, always the same object: a subject may keep what it knows of a model by its identity.

    Its passes are counted anew, unless it is only looked at.
    """
    held = _MODELS.setdefault(id(toy), (toy, Model(toy.law, toy.vocab)))[1]
    if new:
        held.passes = 0
        held.texts.clear()
    return held


def keywords(subject: Subject, case: Case, tree: TokenTree | None) -> dict[str, Any]:
    """Return the arguments by name for a subject that declares that it takes them."""
    named: dict[str, Any] = {}
    if subject.warps and subject.kind not in ("decoder", "drafter"):
        named["sampling_params"] = case.sampling_params
    if subject.stops:
        named["end"] = case.end
        if subject.kind != "decoder":
            named["limit"] = case.limit
    if subject.masks:
        named["mask"] = None if case.mask is None else _mask(subject, case, tree)
    return named


def _mask(subject: Subject, case: Case, tree: TokenTree | None) -> Any:
    mask, vocab = case.mask, case.target.vocab
    assert mask is not None
    if tree is None:
        return lambda text: mask(tuple(int(x) for x in text), vocab)
    rows = np.stack([mask(case.prompt + text, vocab) for text in texts(tree)])
    return libraries.booleans(subject, rows[0] if subject.kind == "step" else rows)


def _reported(subject: Subject, found: Any) -> tuple[Any, tuple[float, ...] | None]:
    """(what was returned, the log-probabilities beside it)."""
    if not subject.logprobs:
        return found, None
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise Broken(f"returned {_shown(found)}, not a pair (..., log-probabilities)")
    try:
        values = np.asarray(libraries.plain(found[1]), dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise Broken(f"returned {_shown(found[1])} as log-probabilities") from None
    if np.isnan(values).any():
        raise Broken(f"returned {_shown(values.tolist())} as log-probabilities")
    return found[0], tuple(values.round(6).tolist())


def _drafted(case: Case, found: Any) -> Answer:
    """Drafts and the rows that they are said to come from."""
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise Broken(f"returned {_shown(found)}, not a pair (drafts, q)")
    text, vocab = tokens(found[0], case.draft.vocab, case.size), case.draft.vocab
    if found[1] is None:
        return Answer(text, 0)
    rows = np.asarray(libraries.plain(found[1]), dtype=np.float64)
    if rows.shape != (len(text), vocab) or not np.isfinite(rows).all():
        raise Broken(f"returned q of shape {rows.shape} for {len(text)} drafts, or not finite; V is {vocab}")
    return Answer(text, 0, q=tuple(tuple(row) for row in rows.round(6).tolist()))


def passed(subject: Subject, given: Input) -> tuple[Any, Any, Any]:
    """p, q and the drafts or the tree, in the subject's own arrays."""
    tree = given.tree
    assert tree is not None
    p = libraries.array(subject, given.p)
    q = None if given.q is None else libraries.array(subject, given.q)
    drafts = libraries.integers(subject, tree.tokens)
    if subject.kind == "tree":
        return p, q, tree._replace(tokens=drafts)
    if subject.kind == "step":
        return p[0], None if q is None else q[0], drafts
    return p, None if q is None else q[:-1], drafts


def randomness(subject: Subject, case: Case, tree: Any, random: Any, rows: tuple[int, ...] = ()) -> tuple[Any, ...]:
    """Return the randomness that is appended to the arguments of a call, or of a batch."""
    if subject.randomness == "global":
        return ()
    if subject.randomness == "random":
        return (libraries.key(random) if libraries.takes_key(subject) else random,)
    return (_coins(subject, random.random((*rows, number_of_coins(subject, case, tree)))),)


def number_of_coins(subject: Subject, case: Case, tree: Any) -> int:
    """One for every draft and one more, if the subject does not say."""
    if subject.coins is None:
        return len(case.parents) + 1
    return subject.coins(tree if subject.kind == "tree" else len(case.parents))


def _coins(subject: Subject, u: Any) -> Any:
    if isinstance(u, np.ndarray):
        return libraries.array(subject._replace(logits=False), u)
    if subject.arrays == "torch":
        return u.as_tensor()
    out = np.empty(u.shape, dtype=object)  # what runs on Fractions runs on these
    for index in np.ndindex(*u.shape):
        out[index] = u[index].item()
    return out


def answer(subject: Subject, case: Case, tree: TokenTree, found: Any) -> Answer:
    """Return the answer of a step, chain or tree from the value that it returned."""
    drafts, vocab = [int(x) for x in np.asarray(tree.tokens)], case.target.vocab
    if subject.kind == "step":
        token = _token(found, vocab)
        return Answer((token,), int(token in drafts))
    if subject.returns == "tokens":
        text = tokens(found, vocab, len(drafts) + 1)
        return Answer(text, max(len(text) - 1, 0))
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise Broken(
            f"returned {_shown(found)}, not a pair ({'path' if subject.kind == 'tree' else 'kept'}, next token)"
        )
    if subject.kind == "tree":
        kept = _path(tree, found[0])
    else:
        number = integer(found[0], "number of kept drafts")
        if not 0 <= number <= len(drafts):
            raise Broken(f"returned {number} kept drafts of {len(drafts)}")
        kept = tuple(drafts[:number])
    stopped = kept[-1:] == (case.end,) or len(kept) == case.limit
    if _is_none(found[1]) and (subject.kind == "tree" or len(kept) == len(drafts) or stopped):
        return Answer(kept, len(kept))
    return Answer((*kept, _token(found[1], vocab)), len(kept))


def _is_none(found: Any) -> bool:
    """Return whether no next token is returned: None, or -1 in an array of them."""
    return found is None or (np.size(plain := libraries.plain(found)) == 1 and bool(np.all(plain == -1)))


def _token(found: Any, vocab: int) -> int:
    """One token id."""
    token = integer(found, "token")
    if not 0 <= token < vocab:
        raise Broken(f"returned token {token}, outside 0..{vocab - 1}")
    return token


def _path(tree: TokenTree, found: Any) -> Text:
    """The tokens of the kept nodes, which must go down from the root."""
    nodes = tokens(found, len(tree.parents), len(tree.parents))
    above = -1
    for node in nodes:
        if int(tree.parents[node]) != above:
            raise Broken(f"returned the path {list(nodes)}: node {node} does not hang below {above}")
        above = node
    return tuple(int(tree.tokens[node]) for node in nodes)


def tokens(found: Any, vocab: int, most: int) -> Text:
    """Token ids; -1 pads the end."""
    found = libraries.plain(found)
    if not isinstance(found, tuple | list | np.ndarray):
        raise Broken(f"returned {_shown(found)}, not token ids")
    ids = [integer(one, "token") for one in (found.ravel() if isinstance(found, np.ndarray) else found)]
    while ids and ids[-1] == -1:
        ids.pop()
    for one in ids:
        if not 0 <= one < vocab:
            raise Broken(f"returned token {one}, outside 0..{vocab - 1}")
    if len(ids) > most:
        raise Broken(f"returned {len(ids)} tokens where {most} are possible")
    return tuple(ids)


def integer(found: Any, what: str) -> int:
    """A whole number, from whatever holds one."""
    try:
        number = float(np.asarray(libraries.plain(found)).reshape(()))
    except (TypeError, ValueError):
        raise Broken(f"returned {_shown(found)} as {what}") from None
    if math.isnan(number) or number != math.floor(number):
        raise Broken(f"returned {number} as {what}")
    return int(number)


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) < 60 else f"{text[:57]}..."
