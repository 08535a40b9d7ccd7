"""What is judged: a callable behind one of five small protocols, with its inputs declared.

| kind | `run` is called as | and returns |
| --- | --- | --- |
| step | (p, q, drafts) | the token |
| chain | (p, q, drafts) | (kept, next token), or the tokens emitted |
| tree | (p, q, tree) | (path, next token), or the tokens emitted |
| decoder | (target, draft, prompt, n, sampling_params) | the tokens after the prompt |
| drafter | (draft, prompt, gamma, sampling_params) | (drafts, q), q (gamma, V) or None where they are certain |

Laws are rows with the vocabulary on the last axis. step: p, q (V,), drafts (K,). chain: p (gamma+1, V), q (gamma, V),
drafts (gamma,). tree: a `specsim.TokenTree` of n nodes, p and q (n+1, V), row 0 after the root, row i+1 after node i
(rows of q after leaves are not to be read); the path is the list of kept nodes, from the root, in the tree's numbers.
decoder: models are `Model`s, looked up in tables; prompt is a tuple of token ids.

The next token may be None after a block that was kept whole: the caller draws the bonus, which is the target's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

Kind = Literal["step", "chain", "tree", "decoder", "drafter"]
Library = Literal["numpy", "torch"]
Randomness = Literal["coins", "global", "random"]
KINDS: tuple[Kind, ...] = ("step", "chain", "tree", "decoder", "drafter")


class SamplingParams(NamedTuple):
    """Sampling parameters, applied in the order of `specsim.warp`; top_k = 0 and top_p = 1 keep every token."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0


UNCHANGED = SamplingParams()
ORDER = SamplingParams._fields


class Subject(NamedTuple):
    """A verifier or a decoder, and everything that the harness may assume of it.

    Examples
    --------
    >>> def mine(p, q, drafts, random):
    ...     x = drafts[0]
    ...     if random.random() * q[x] <= p[x]:
    ...         return x
    ...     rest = (p - q).clip(0)
    ...     return random.choice(len(p), p=rest / rest.sum())
    >>> Subject("mine", "step", mine).randomness
    'random'
    """

    name: str
    kind: Kind
    run: Callable[..., Any]
    arrays: Library = "numpy"  # what p, q, drafts (and coins) are
    dtype: str = "float64"  # of laws and coins: "float32", "bfloat16", ...; drafts are int64
    randomness: Randomness = "random"
    """Where random numbers come from: "coins": a last argument (c,) of uniforms on [0, 1); "random": a last argument
    like `numpy.random.Generator` (random, uniform, choice, exponential); "global": it calls torch, NumPy or `random`
    itself, and takes no argument for it."""
    coins: Callable[[Any], int] | None = None  # number of drafts, or the tree -> number of coins; None: one more
    lossless: bool = True  # False: it says that it is lossy, and is priced instead of convicted
    takes_q: bool = True  # False: q is passed as None, and drafts are one-hot (a lookup, an argmax)
    returns: Literal["kept", "tokens"] = "kept"  # "tokens": those emitted, padded at the end with -1 if with anything
    logits: bool = False  # p and q are passed as logits (log p; -inf where 0) instead of laws
    warps: bool = False
    """It applies the sampling parameters itself. A step, chain or tree then takes a keyword `sampling_params`, p and q
    are before it, and drafts come from the warped q; a decoder or drafter, which always takes `sampling_params`, is
    then judged at others than none."""
    order: tuple[str, ...] = ORDER  # in which it applies them: what its own sampler does without drafts is no error
    sizes: tuple[int, ...] = (1, 2, 3)  # numbers of drafts that it takes: K of a step, gamma of a chain
    scheme: str = "iid"  # how several candidates for one place are drawn: a draft scheme of specsim, or "paths"
    shapes: tuple[tuple[int, ...], ...] = ((-1, -1), (-1, 0), (-1, -1, 0), (-1, -1, 1), (-1, 0, 0))  # parents of trees
    block: bool = False  # a decoder that returns one block, which is to be continued by the target
    stateful: bool = False  # `run()` gives what is called as above, round after round of one text, and may remember
    stops: bool = False
    """It ends texts itself: it takes a keyword `end`, a token id or None, and unless it is a decoder (which has n)
    `limit`, the most tokens or None. The next token may then be None after a draft that ends the text."""
    masks: bool = False
    """It applies a mask itself: a keyword `mask` says what is allowed, bool of the shape of p (None: everything); a
    decoder's is a function from a text, prompt included, to (V,). p and q are before it; drafts come from that q."""
    logprobs: Literal["", "raw", "warped"] = ""
    """It returns a pair: what it returns otherwise, and for every token emitted the natural logarithm of the target's
    probability, before ("raw") or after ("warped") the sampling parameters."""
    dtypes: tuple[str, ...] = ()  # other types of p and q that it takes, for which the distance is measured
    paths: Callable[..., tuple[Any, Any]] | None = None
    """(target, text) -> the logits (V,) after a text, as decoding and as verifying compute them: how far the two are
    apart tells a near tie from an error. Without it they differ by the rounding of `dtype`."""
    batch: Callable[..., Any] | None = None
    """As `run`, with a leading axis of N on every argument and result ((N,), (N, T) padded with -1, or a pair of them);
    what Monte Carlo uses. Trees: one tree with tokens (N, n). `end`, `limit` and `mask` are None."""
    needs_device: str = ""  # "cuda": not available on a machine without
    note: str = ""  # one line for the report: a caveat, a version, an issue


class Model:
    """A toy model, looked up in a table: the law after any text, and how often it was asked.

    ``model(text)`` is the law (V,) after a text, which contains the prompt; ``model.rows(text, first)`` the laws after
    text[:first], text[:first+1], ..., text: (len(text) - first + 1, V). Either is one pass. Laws are NumPy float64,
    before warping.
    """

    def __init__(self, law: Callable[[tuple[int, ...]], Any], vocab: int) -> None:
        self.law, self.vocab, self.passes = law, vocab, 0

    def __call__(self, text: Any) -> Any:
        self.passes += 1
        return self.law(tuple(int(y) for y in text))

    def rows(self, text: Any, first: int = 0) -> Any:
        """The laws after every beginning of a text that has at least `first` tokens."""
        import numpy as np

        self.passes += 1
        ids = tuple(int(y) for y in text)
        return np.stack([self.law(ids[:i]) for i in range(first, len(ids) + 1)])
