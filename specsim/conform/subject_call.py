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
    """The subject raised, hung, or returned no token ids; `at` is the case and the input of the call, once known."""

    at: tuple[Case, Input] | None = None


class TooSlow(Broken):
    """One call used more of the processor than a call is given."""


class Input(NamedTuple):
    """One drafted tree with its rows, and the probability of drawing it; a decoder has no drafts.

    Rows `p` and `q` have shape (n + 1, V), row 0 after the root. They are those that the subject is passed: before
    `sampling_params`, if the subject warps; `q` is None for a subject that does not take it.
    """

    tree: TokenTree | None
    p: Array
    q: Array | None
    weight: float


class Answer(NamedTuple):
    """The tokens emitted, how many of them are accepted drafts, and the passes of the target that it took.

    `q` holds the rows that a drafter returned, `logprobs` the log-probabilities that are reported, to six digits.
    """

    text: Text
    num_accepted: int
    passes: int = 1
    q: tuple[tuple[float, ...], ...] | None = None
    logprobs: tuple[float, ...] | None = None


def inputs(subject: Subject, case: Case) -> list[Input]:
    """Return everything that can be drafted in a case, with its probability."""
    if subject.kind in ("decoder", "drafter"):
        return [Input(None, np.zeros((0, case.target.vocab)), None, 1.0)]
    # A subject that warps or masks changes the rows itself: it is passed those before.
    changes_rows = subject.warps or (subject.masks and case.mask is not None)
    drafted = []
    for tree, rows, weight in drawn_trees(case.q, case.parents, subject.scheme):
        whole_texts = [case.prompt + text for text in texts(tree)]
        if changes_rows:
            p = np.stack([case.target.law(text) for text in whole_texts])
            q = np.stack([case.draft.law(text) for text in whole_texts])
        else:
            p = np.stack([case.p(text) for text in texts(tree)])
            q = np.asarray(rows)
        drafted.append(Input(tree, p, q if subject.takes_q else None, float(weight)))
    return drafted


def call(subject: Subject, case: Case, drafted: Input, random: Any) -> Answer:
    """Run the subject once; `random` is a NumPy generator, or the stand-in for one."""
    coins = randomness(subject, case, drafted.tree, random)
    named = keywords(subject, case, drafted.tree)
    run = subject.run() if subject.stateful else subject.run
    if subject.kind == "drafter":
        draft = model(case.draft)
        return _drafted(case, run(draft, case.prompt, case.size, case.sampling_params, *coins))

    # A decoder emits a whole text: each pass beyond the first gives one token that is no draft.
    if drafted.tree is None:
        target, draft = model(case.target), model(case.draft)
        most = case.limit or case.size + 1
        returned = run(target, draft, case.prompt, most, case.sampling_params, *coins, **named)
        ids, logprobs = _reported(subject, returned)
        text = tokens(ids, case.target.vocab, most if not subject.block else 10**6)
        num_accepted = max(len(text) - max(target.passes, 1), 0)
        return Answer(text, num_accepted, target.passes, logprobs=logprobs)

    # A step, chain or tree verifies the drafts.
    value, logprobs = _reported(subject, run(*passed(subject, drafted), *coins, **named))
    return answer(subject, case, drafted.tree, value)._replace(logprobs=logprobs)


# Models by the identity of their tables, which are kept with them, so that no other table gets the same identity.
_MODELS: dict[int, tuple[Toy, Model]] = {}


def model(toy: Toy, *, new: bool = True) -> Model:
    """Return the model of a table: always the same object, since a subject may cache by a model's identity.

    new: count its passes and texts from 0 again.
    """
    _, cached = _MODELS.setdefault(id(toy), (toy, Model(toy.law, toy.vocab)))
    if new:
        cached.passes = 0
        cached.texts.clear()
    return cached


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
    """Return the mask as the subject takes it: a function of the text for a decoder, else rows of booleans."""
    mask, vocab = case.mask, case.target.vocab
    assert mask is not None
    if tree is None:
        return lambda text: mask(tuple(int(x) for x in text), vocab)
    rows = np.stack([mask(case.prompt + text, vocab) for text in texts(tree)])
    return libraries.booleans(subject, rows[0] if subject.kind == "step" else rows)


def _reported(subject: Subject, returned: Any) -> tuple[Any, tuple[float, ...] | None]:
    """Return (the value, the log-probabilities beside it, or None if the subject reports none)."""
    if not subject.logprobs:
        return returned, None
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise Broken(f"returned {_shown(returned)}, not a pair (..., log-probabilities)")
    value, logprobs = returned
    try:
        numbers = np.asarray(libraries.plain(logprobs), dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise Broken(f"returned {_shown(logprobs)} as log-probabilities") from None
    if np.isnan(numbers).any():
        raise Broken(f"returned {_shown(numbers.tolist())} as log-probabilities")
    return value, tuple(numbers.round(6).tolist())


def _drafted(case: Case, returned: Any) -> Answer:
    """Return the answer of a drafter: its drafts, and the rows that it says they come from."""
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise Broken(f"returned {_shown(returned)}, not a pair (drafts, q)")
    drafts, q = returned
    vocab = case.draft.vocab
    text = tokens(drafts, vocab, case.size)
    if q is None:
        return Answer(text, 0)
    rows = np.asarray(libraries.plain(q), dtype=np.float64)
    if rows.shape != (len(text), vocab) or not np.isfinite(rows).all():
        raise Broken(f"returned q of shape {rows.shape} for {len(text)} drafts, or not finite; V is {vocab}")
    return Answer(text, 0, q=tuple(tuple(row) for row in rows.round(6).tolist()))


def passed(subject: Subject, drafted: Input) -> tuple[Any, Any, Any]:
    """Return p, q and the drafts or the tree, in arrays of the subject's library."""
    tree = drafted.tree
    assert tree is not None
    p = libraries.array(subject, drafted.p)
    q = None if drafted.q is None else libraries.array(subject, drafted.q)
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
    """Return the number of uniforms of a call: one for every draft and one more, if the subject does not say."""
    if subject.coins is None:
        return len(case.parents) + 1
    return subject.coins(tree if subject.kind == "tree" else len(case.parents))


def _coins(subject: Subject, u: Any) -> Any:
    """Return uniforms in arrays of the subject's library; scripted ones keep their identity."""
    if isinstance(u, np.ndarray):
        return libraries.array(subject._replace(logits=False), u)
    if subject.arrays == "torch":
        return u.as_tensor()
    # A program that runs on Fractions runs on scripted uniforms, too.
    numbers = np.empty(u.shape, dtype=object)
    for index in np.ndindex(*u.shape):
        numbers[index] = u[index].item()
    return numbers


def answer(subject: Subject, case: Case, tree: TokenTree, returned: Any) -> Answer:
    """Return the answer of a step, chain or tree from the value that it returned."""
    drafts, vocab = [int(x) for x in np.asarray(tree.tokens)], case.target.vocab
    # One token, or a list of tokens of which all but the last are drafts.
    if subject.kind == "step":
        token = _token(returned, vocab)
        return Answer((token,), int(token in drafts))
    if subject.returns == "tokens":
        text = tokens(returned, vocab, len(drafts) + 1)
        return Answer(text, max(len(text) - 1, 0))

    # A pair: the accepted path of a tree or the number of accepted drafts of a chain, and the next token.
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        first = "path" if subject.kind == "tree" else "kept"
        raise Broken(f"returned {_shown(returned)}, not a pair ({first}, next token)")
    if subject.kind == "tree":
        accepted = _path(tree, returned[0])
    else:
        number = integer(returned[0], "number of kept drafts")
        if not 0 <= number <= len(drafts):
            raise Broken(f"returned {number} kept drafts of {len(drafts)}")
        accepted = tuple(drafts[:number])

    # No next token follows an end token or the limit; a subject may leave out the bonus token.
    stopped = accepted[-1:] == (case.end,) or len(accepted) == case.limit
    may_end_here = subject.kind == "tree" or len(accepted) == len(drafts) or stopped
    if _is_none(returned[1]) and may_end_here:
        return Answer(accepted, len(accepted))
    return Answer((*accepted, _token(returned[1], vocab)), len(accepted))


def _is_none(value: Any) -> bool:
    """Return whether no next token is returned: None, or -1 in an array of one."""
    if value is None:
        return True
    plain = libraries.plain(value)
    return np.size(plain) == 1 and bool(np.all(plain == -1))


def _token(value: Any, vocab: int) -> int:
    """Return the token id that a value holds."""
    token = integer(value, "token")
    if not 0 <= token < vocab:
        raise Broken(f"returned token {token}, outside 0..{vocab - 1}")
    return token


def _path(tree: TokenTree, path: Any) -> Text:
    """Return the tokens of the accepted nodes, which must go down from the root."""
    nodes = tokens(path, len(tree.parents), len(tree.parents))
    parent = -1
    for node in nodes:
        if int(tree.parents[node]) != parent:
            raise Broken(f"returned the path {list(nodes)}: node {node} does not hang below {parent}")
        parent = node
    return tuple(int(tree.tokens[node]) for node in nodes)


def tokens(values: Any, vocab: int, most: int) -> Text:
    """Return token ids as a tuple, without the -1 that pad the end; at most `most` are possible."""
    values = libraries.plain(values)
    if not isinstance(values, tuple | list | np.ndarray):
        raise Broken(f"returned {_shown(values)}, not token ids")
    flat = values.ravel() if isinstance(values, np.ndarray) else values
    ids = [integer(value, "token") for value in flat]
    while ids and ids[-1] == -1:
        ids.pop()
    for token in ids:
        if not 0 <= token < vocab:
            raise Broken(f"returned token {token}, outside 0..{vocab - 1}")
    if len(ids) > most:
        raise Broken(f"returned {len(ids)} tokens where {most} are possible")
    return tuple(ids)


def integer(value: Any, what: str) -> int:
    """Return the whole number that a value of any library holds; `what` names it in messages."""
    try:
        number = float(np.asarray(libraries.plain(value)).reshape(()))
    except (TypeError, ValueError):
        raise Broken(f"returned {_shown(value)} as {what}") from None
    if math.isnan(number) or number != math.floor(number):
        raise Broken(f"returned {number} as {what}")
    return int(number)


def _shown(value: Any) -> str:
    """Return a value as text of at most 60 characters, for messages."""
    text = " ".join(repr(value).split())
    return text if len(text) < 60 else f"{text[:57]}..."
