"""The subject of a judgement: a callable behind one of five small protocols, with its inputs declared.

| kind | `run` is called as | and returns |
| --- | --- | --- |
| step | (p, q, drafts) | the token |
| chain | (p, q, drafts) | (kept, next token), or the tokens emitted |
| tree | (p, q, tree) | (path, next token), or the tokens emitted |
| decoder | (target, draft, prompt, n, sampling_params) | the tokens after the prompt |
| drafter | (draft, prompt, gamma, sampling_params) | (drafts, q), q (gamma, V) or None where they are certain |

Laws are rows with the vocabulary on the last axis. step: p, q (V,), drafts (K,). chain: p (gamma+1,
V), q (gamma, V), drafts (gamma,). tree: a `specsim.TokenTree` of n nodes, p and q (n+1, V), row 0
after the root, row i+1 after node i (rows of q after leaves are not to be read); the path is the
list of kept nodes, from the root, in the tree's numbers. decoder: models are `Model`s, looked up in
tables; prompt is a tuple of token ids.

The next token may be None after a block that was kept whole: the caller draws the bonus, which is
the target's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

Kind = Literal["step", "chain", "tree", "decoder", "drafter"]
Library = Literal["numpy", "torch", "jax"]
Randomness = Literal["coins", "global", "random"]
KINDS: tuple[Kind, ...] = ("step", "chain", "tree", "decoder", "drafter")


class SamplingParams(NamedTuple):
    """Sampling parameters, applied in the order of `specsim.warp`; top_k = 0 and top_p = 1 keep every token."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0


# Sampling parameters that leave laws as they are.
UNCHANGED = SamplingParams()
ORDER = SamplingParams._fields


class Subject(NamedTuple):
    """A verifier or a decoder, and everything that the harness may assume of it.

    `run` is called, and returns, by `kind`; laws are rows with the vocabulary on the last axis::

        step     run(p (V,), q (V,), drafts (K,)) -> the token
        chain    run(p (gamma+1, V), q (gamma, V), drafts (gamma,)) -> (kept, next token), or the tokens emitted
        tree     run(p (n+1, V), q (n+1, V), tree) -> (path, next token), or the tokens emitted
        decoder  run(target, draft, prompt, n, sampling_params) -> the n tokens after the prompt
        drafter  run(draft, prompt, gamma, sampling_params) -> (drafts, q (gamma, V)), q None where they are certain

    Row 0 of p is the law before the first draft, row i + 1 the one after draft i (of a tree: after
    node i). `tree` is a `specsim.TokenTree`, the path its kept nodes from the root. Target and
    draft are each a `Model`, a prompt is a tuple of token ids. The next token may be None after a
    block that was kept whole: the caller draws the bonus. Random numbers, and keywords that a field
    below announces, follow these arguments.

    Examples
    --------
    >>> def mine(p, q, drafts, random):
    ...     x = drafts[0]
    ...     if random.random() * q[x] < p[x]:
    ...         return x
    ...     rest = (p - q).clip(0)
    ...     return random.choice(len(p), p=rest / rest.sum())
    >>> Subject("mine", "step", mine).randomness
    'random'
    >>> print(Subject.shapes.__doc__)
    trees that it takes, each as the parents of its nodes, -1 for the root; with the default one of eight nodes, too
    """

    name: str
    kind: Kind
    run: Callable[..., Any]
    arrays: Library = "numpy"
    dtype: str = "float64"
    randomness: Randomness = "random"
    coins: Callable[[Any], int] | None = None
    lossless: bool = True
    takes_q: bool = True
    returns: Literal["kept", "tokens"] = "kept"
    logits: bool = False
    warps: bool = False
    order: tuple[str, ...] = ORDER
    sizes: tuple[int, ...] = (1, 2, 3, 4)
    scheme: str = "iid"
    shapes: tuple[tuple[int, ...], ...] = ((-1, -1), (-1, 0), (-1, -1, 0), (-1, -1, 1), (-1, 0, 0), (-1, -1, -1, 0))
    block: bool = False
    stateful: bool = False
    stops: bool = False
    masks: bool = False
    logprobs: Literal["", "raw", "warped"] = ""
    dtypes: tuple[str, ...] = ()
    paths: Callable[..., tuple[Any, Any]] | None = None
    batch: Callable[..., Any] | None = None
    models: tuple[Any, Any] | None = None
    needs_device: str = ""
    note: str = ""


# What every field means: `help(Subject)` and the table of docs/api/conform.md (`python
# docs/refresh.py`) say this.
FIELDS = {
    "name": "what it is called in reports",
    "kind": "step, chain, tree, decoder or drafter: how `run` is called",
    "run": "the verifier or decoder; its exceptions are verdicts",
    "arrays": "library of p, q, drafts and coins: numpy, torch or jax, which brings a key (`randomness`)",
    "dtype": "type of laws and coins: float64, float32, bfloat16, ...; drafts are int64. Of jax, float32 and int32 "
    "unless JAX's own `jax_enable_x64` is on",
    "randomness": "where random numbers come from. random: a last argument like `numpy.random.Generator` (random, "
    "uniform, choice, exponential); of jax a key of `jax.random`. coins: a last argument (c,) of uniforms on [0, 1). "
    "global: it calls torch, NumPy or `random` itself, and takes no argument for it",
    "coins": "number of drafts, or the tree -> number of coins it takes; None: one more than drafts",
    "lossless": "False: it says that it is lossy, and is priced instead of convicted",
    "takes_q": "False: q is passed as None, and drafts are one-hot (a lookup, an argmax)",
    "returns": "of a chain or tree. kept: a pair, the number of kept drafts or their path, and the next token. tokens: "
    "those emitted, padded at the end with -1 if with anything",
    "logits": "p and q are passed as logits (log p; -inf where p is 0) instead of laws",
    "warps": "it applies the sampling parameters itself: a step, chain or tree takes a keyword `sampling_params`, p "
    "and q are before it, drafts come from the warped q. A decoder or drafter, which always takes them, is judged at "
    "others than none",
    "order": "in which it applies temperature, top_k and top_p: what its own sampler does without drafts is no error",
    "sizes": "numbers of drafts that it takes: K of a step, gamma of a chain; of a chain with the default 6 and 8, "
    "too. A chain with 0 among them is also judged without drafts",
    "scheme": "how several candidates for one place are drawn: a draft scheme of specsim, or paths",
    "shapes": "trees that it takes, each as the parents of its nodes, -1 for the root; with the default one of eight "
    "nodes, too",
    "block": "a decoder that returns one block, which is to be continued by the target",
    "stateful": "`run()` gives what is called as above, round after round of one text, and may remember",
    "stops": "it ends texts itself: a keyword `end`, a token id or None, and unless it is a decoder (which has n) "
    "`limit`, the most tokens or None. The next token may then be None after a draft that ends the text",
    "masks": "it applies a mask itself: a keyword `mask` says what is allowed, bool of the shape of p (None: "
    "everything); a decoder's is a function from a text, prompt included, to (V,). p and q are before it; drafts come "
    "from that q",
    "logprobs": "raw or warped: it returns a pair, what it returns otherwise, and for every token emitted the natural "
    "logarithm of the target's probability before, or after, the sampling parameters",
    "dtypes": "other types of p and q that it takes, for which the distance is measured",
    "paths": "(target, text) -> the logits (V,) after a text, as decoding and as verifying compute them: how far the "
    "two are apart tells a near tie from an error. None: they differ by the rounding of `dtype`",
    "batch": "as `run`, with a leading axis of N on every argument and result ((N,), (N, T) padded with -1, or a pair "
    "of them); what Monte Carlo uses. Trees: one tree with tokens (N, n). `end`, `limit` and `mask` are None. With 0 "
    "among `sizes` rows without drafts stand beside others: their drafts are -1",
    "models": "of a decoder that runs models of its own: target and draft as two `specsim.conform.toys.Toy`, tables of "
    "their laws. Its first token and its joint law are judged against the target's, and nothing else is",
    "needs_device": "cuda: not available on a machine without",
    "note": "one line for the report: a caveat, a version, an issue",
}
for _field, _words in FIELDS.items():
    getattr(Subject, _field).__doc__ = _words


def markdown() -> str:
    """Return the fields of a subject as a table: name, default, meaning."""
    rows = ["| field | default | what it says |", "| --- | --- | --- |"]
    for field, words in FIELDS.items():
        default = Subject._field_defaults.get(field, "required")
        shown = "" if default == "required" else f"`{default!r}`"
        rows.append(f"| `{field}` | {shown or default} | {words} |")
    return "\n".join(rows)


class Model:
    """A toy model, looked up in a table: the law after any text, and how often it was asked.

    ``model(text)`` is the law (V,) after a text, which contains the prompt; ``model.rows(text,
    first)`` the laws after text[:first], text[:first+1], ..., text: (len(text) - first + 1, V).
    Either is one pass. Laws are NumPy float64, before warping.
    """

    def __init__(self, law: Callable[[tuple[int, ...]], Any], vocab: int) -> None:
        self._law, self.vocab, self.passes = law, vocab, 0
        # Texts after which a law was looked up.
        self.texts: set[tuple[int, ...]] = set()

    def __call__(self, text: Any) -> Any:
        """Return the law after a text, in one pass."""
        self.passes += 1
        return self._looked_up(tuple(int(y) for y in text))

    law = __call__  # another word for the same: it is one pass, too

    def rows(self, text: Any, first: int = 0) -> Any:
        """Return the laws after every beginning of a text that has at least `first` tokens."""
        import numpy as np

        self.passes += 1
        ids = tuple(int(y) for y in text)
        return np.stack([self._looked_up(ids[:i]) for i in range(first, len(ids) + 1)])

    def _looked_up(self, text: tuple[int, ...]) -> Any:
        """Return the law after a text, and note that it was asked for."""
        self.texts.add(text)
        return self._law(text)
