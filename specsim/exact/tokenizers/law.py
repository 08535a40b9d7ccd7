"""The exact law of what is written with a draft of another tokenizer, by enumeration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

from specsim.base import check, limits
from specsim.exact.tokenizers import methods
from specsim.exact.tokenizers.proposals import TokenModel, check_model, row_after
from specsim.exact.tokenizers.tokenizer import decode

# Most paths of a draft that are enumerated before one target call; more would take minutes.
MOST = 1 << 14
# Most drafts in all that are enumerated, of every text that a call may follow; more would take minutes.
MOST_DRAFTS = 1 << 16

# Probability by outcome.
Law = dict[Any, Any]
# Target ids that one call writes, and how many of them are accepted drafts.
Call = tuple[tuple[int, ...], int]


class AcrossTokenizers(NamedTuple):
    """The exact laws that a method writes, beside those that the target writes alone.

    Attributes
    ----------
    tokens, texts : dict
        The law of the first tokens, as tuples of the target's ids, and of as many first characters.
    token_distance, text_distance : number
        Their total variation distances from the target's own: 0 if the method is lossless here.
    accepted, tokens_per_call : number
        Drafts accepted and tokens written by the first target call, expected.

    Examples
    --------
    >>> import specsim
    >>> one = specsim.TokenModel(specsim.small_tokenizer("ab"), lambda ids: [0.5, 0.5])
    >>> made = specsim.across_tokenizers(one, one, drafts=1, tokens=1)
    >>> made.texts, made.accepted, made.lossless
    ({'a': 0.5, 'b': 0.5}, 0.5, True)
    """

    tokens: Law
    texts: Law
    token_distance: Any
    text_distance: Any
    accepted: Any
    tokens_per_call: Any

    @property
    def lossless(self) -> bool:
        """Whether the law of the tokens is the target's, up to the rounding of floats."""
        return bool(self.token_distance <= 1e-12)


def across_tokenizers(
    target: TokenModel,
    draft: TokenModel,
    method: str = "exact_match",
    *,
    drafts: int = 2,
    tokens: int = 2,
) -> AcrossTokenizers:
    """Compute the law that a target writes with drafts of another tokenizer, and what each call gives.

    Every path of the draft is enumerated, and every call until enough tokens are written: for vocabularies
    of a few tokens.

    Parameters
    ----------
    target, draft : TokenModel
        Each a tokenizer and the law of its next token. Laws of fractions give exact fractions.
    method : str
        How drafts become tokens of the target: "exact_match", "intersection", "reencoded", "string_rejection" or
        "transferred".
    drafts : int
        Draft tokens, of the draft's tokenizer, before each target call.
    tokens : int
        Target tokens whose law is computed.

    Returns
    -------
    AcrossTokenizers
        The laws of tokens and texts, their distances from the target's own, and what the first call gives.

    Raises
    ------
    ValueError
        An unknown method, a row that is no law, more paths or texts than can be enumerated, no mass on shared tokens,
        or a character of one model's text that is no token of the other's tokenizer.

    References
    ----------
    Timor et al. 2025, arXiv:2502.05202; Xiao et al. 2025, arXiv:2510.15545.

    Examples
    --------
    The target has a token "ab" that the draft must write in two. Exact match keeps the law:

    >>> from fractions import Fraction as F
    >>> import specsim
    >>> target = specsim.TokenModel(specsim.small_tokenizer(["a", "b", "ab"]), lambda ids: [F(1, 4), F(1, 4), F(1, 2)])
    >>> draft = specsim.TokenModel(specsim.small_tokenizer(["a", "b"]), lambda ids: [F(1, 2), F(1, 2)])
    >>> exact = specsim.across_tokenizers(target, draft, "exact_match")
    >>> exact.token_distance, exact.tokens_per_call
    (Fraction(0, 1), Fraction(87, 64))

    Transferred probabilities do not:

    >>> specsim.across_tokenizers(target, draft, "transferred", tokens=1).token_distance
    Fraction(1, 8)
    """
    # Names and sizes.
    check_model(target, "target")
    check_model(draft, "draft")
    module = methods.find(method)
    drafts = check.integer(drafts, "drafts", 1, limits.MAX_GAMMA)
    tokens = check.integer(tokens, "tokens", 1, limits.MAX_GAMMA)
    for name, number, model in (("drafts", drafts, draft), ("tokens", tokens, target)):
        size = len(model.tokenizer.tokens)
        if size**number > MOST:
            raise ValueError(
                f"{name} is {number}: of {size} tokens there are {size}**{number} sequences, and at most {MOST} are "
                f"enumerated; take fewer {name} or a smaller tokenizer"
            )

    _require_few(len(target.tokenizer.tokens), tokens, len(draft.tokenizer.tokens) ** drafts)

    # Each row is asked for and checked once.
    target = _remembered(target, "target")
    draft = _remembered(draft, "draft")

    # The law of what is written: calls until there are enough tokens.
    first = _call(module, target, draft, (), drafts)
    written = _written(module, target, draft, drafts, tokens)
    by_tokens = _summed((ids[:tokens], weight) for ids, weight in written.items())
    by_text = _summed((decode(target.tokenizer, ids)[:tokens], weight) for ids, weight in written.items())

    # Beside the target's own.
    alone = _alone(target, tokens)
    alone_text = _summed((decode(target.tokenizer, ids)[:tokens], weight) for ids, weight in alone.items())
    return AcrossTokenizers(
        tokens=by_tokens,
        texts=by_text,
        token_distance=_distance(by_tokens, alone),
        text_distance=_distance(by_text, alone_text),
        accepted=sum(accepted * weight for (_, accepted), weight in first.items()),
        tokens_per_call=sum(len(ids) * weight for (ids, _), weight in first.items()),
    )


def _require_few(vocab: int, tokens: int, paths: int) -> None:
    """Raise ValueError if paths of the draft, drawn after each text of fewer than `tokens` tokens, are too many."""
    texts = sum(vocab**length for length in range(tokens))
    if texts * paths > MOST_DRAFTS:
        raise ValueError(
            f"tokens is {tokens}: calls may follow {texts:,} texts, each with {paths:,} drafts, and at most "
            f"{MOST_DRAFTS:,} drafts are enumerated in all; take fewer tokens, fewer drafts or smaller tokenizers"
        )


def _remembered(model: TokenModel, name: str) -> TokenModel:
    """Return a model whose rows are checked when they are first asked for, and then remembered."""
    return TokenModel(model.tokenizer, lru_cache(None)(lambda ids: row_after(model, ids, name)))


def _call(
    module: ModuleType,
    target: TokenModel,
    draft: TokenModel,
    context: tuple[int, ...],
    drafts: int,
) -> dict[Call, Any]:
    """Return the law of what one target call writes after a context: its tokens, and the drafts accepted."""
    text = decode(target.tokenizer, context)
    proposals = module.propose(target.tokenizer, draft, text, drafts)
    law: dict[Call, Any] = defaultdict(int)
    for proposal in proposals:
        # The probability that these drafts are drawn, and accepted up to here.
        reached = proposal.weight
        for place, token in enumerate(proposal.tokens):
            before = proposal.tokens[:place]
            p = target.row(context + before)
            q = module.draft_row(proposal, place, proposals, target.tokenizer, draft.tokenizer)
            acceptance = min(1, p[token] / q[token])

            # A rejected token is replaced from the residual; where p is nowhere above q, from p.
            left_over = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
            weights = left_over if sum(left_over) else p
            for other, weight in enumerate(weights):
                if weight and acceptance < 1:
                    law[(*before, other), place] += reached * (1 - acceptance) * weight / sum(weights)
            reached *= acceptance
            if not reached:
                break
        else:
            # All are accepted: the bonus token follows.
            for token, weight in enumerate(target.row(context + proposal.tokens)):
                if weight:
                    law[(*proposal.tokens, token), len(proposal.tokens)] += reached * weight
    return dict(law)


def _written(module: ModuleType, target: TokenModel, draft: TokenModel, drafts: int, tokens: int) -> Law:
    """Return the law of all tokens that are written until there are at least so many."""
    read = getattr(module, "context", lambda tokenizer, ids: ids)
    call = lru_cache(None)(lambda context: _call(module, target, draft, context, drafts))
    open_texts: Law = {(): Fraction(1)}
    written: Law = defaultdict(int)
    while open_texts:
        longer: Law = defaultdict(int)
        for ids, weight in open_texts.items():
            for (new, _), probability in call(read(target.tokenizer, ids)).items():
                to = written if len(ids) + len(new) >= tokens else longer
                to[ids + new] += weight * probability
        open_texts = longer
    return dict(written)


def _alone(target: TokenModel, tokens: int) -> Law:
    """Return the law of the first tokens that the target writes by itself."""
    law: Law = {(): Fraction(1)}
    for _ in range(tokens):
        law = {
            (*ids, token): weight * probability
            for ids, weight in law.items()
            for token, probability in enumerate(target.row(ids))
            if probability
        }
    return law


def _summed(pairs: Iterable[tuple[Any, Any]]) -> Law:
    """Return the law of outcomes, sorted, that are given several times, each with a part of its probability."""
    law: Law = defaultdict(int)
    for outcome, weight in pairs:
        law[outcome] += weight
    return dict(sorted(law.items()))


def _distance(first: Law, second: Law) -> Any:
    """Return the total variation distance of two laws."""
    outcomes = first.keys() | second.keys()
    return sum(abs(first.get(outcome, 0) - second.get(outcome, 0)) for outcome in outcomes) / 2
