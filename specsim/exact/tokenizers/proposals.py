"""Proposals of a draft of another tokenizer: every path of its own tokens, as tokens of the target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from specsim.base import check
from specsim.exact.tokenizers.tokenizer import Tokenizer, decode, encode

# A number of exact arithmetic, or a float; the probability of each token at one position.
Row = tuple[Any, ...]


class NothingToDraft(ValueError):
    """A draft's law has no mass on the tokens that may be drafted."""


class TokenModel(NamedTuple):
    """A language model on a small tokenizer: `row(ids)` is the law of the next token after these ids.

    Examples
    --------
    >>> import specsim
    >>> always_the_first = specsim.TokenModel(specsim.small_tokenizer("ab"), lambda ids: [1, 0])
    >>> always_the_first.row((0, 0))
    [1, 0]
    """

    tokenizer: Tokenizer
    row: Callable[[tuple[int, ...]], Sequence[Any]]


class Proposal(NamedTuple):
    """One way in which a draft can come out.

    `tokens` are the target's, `path` and `rows` the draft's own tokens and the law that each was drawn from;
    `weight` is its probability.
    """

    tokens: tuple[int, ...]
    path: tuple[int, ...]
    rows: tuple[Row, ...]
    weight: Any


def check_model(model: TokenModel, name: str) -> None:
    """Refuse, by TypeError, what is no model on a small tokenizer."""
    check.record(model, name, TokenModel)
    check.record(model.tokenizer, f"{name}.tokenizer", Tokenizer)
    check.model(model.row, f"{name}.row")


def row_after(model: TokenModel, ids: tuple[int, ...], name: str) -> Row:
    """Return the law of a model's next token after some ids; ValueError if it is no law, TypeError if no row."""
    value = model.row(ids)
    # The entries of a mapping would be its keys.
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"{name}.row({ids}) must be a list of probabilities, got {check.shown(value)}")
    row = tuple(value)
    size = len(model.tokenizer.tokens)
    if len(row) != size:
        raise ValueError(f"{name}.row({ids}) has {len(row)} entries; expected one for each of its {size} tokens")
    law = check.law([*row], f"{name}.row({ids})")
    if law.ndim != 1:
        raise ValueError(f"{name}.row({ids}) has shape {law.shape}; give one probability for each token")
    return row


def paths(draft: TokenModel, text: str, drafts: int, ids: Sequence[int] | None = None) -> list[Proposal]:
    """Return every path of `drafts` draft tokens after a text; the target tokens are not filled in.

    With `ids` only these draft tokens are drawn, from the draft's law restricted to them.
    """
    context = encode(draft.tokenizer, text, "target's text", "draft.tokenizer")
    proposals = [Proposal((), (), (), Fraction(1))]
    for _ in range(drafts):
        # Every path becomes one path for each token that can follow it.
        longer = []
        for proposal in proposals:
            row = tuple(draft.row(context + proposal.path))
            if ids is not None:
                row = among(row, ids, f"draft.row({context + proposal.path})")
            for token, probability in enumerate(row):
                if probability:
                    weight = proposal.weight * probability
                    longer.append(Proposal((), (*proposal.path, token), (*proposal.rows, row), weight))
        proposals = longer
    return proposals


def among(row: Row, ids: Sequence[int], name: str) -> Row:
    """Return a law restricted to some ids; NothingToDraft if it has no mass there."""
    mass = sum(row[i] for i in ids)
    if not mass:
        raise NothingToDraft(
            f"{name} has no mass on the {len(ids)} tokens of draft.tokenizer that target.tokenizer has, too; give "
            "draft a law that has some, or take a method other than intersection"
        )
    return tuple(row[i] / mass if i in ids else row[i] * 0 for i in range(len(row)))


def reencoded_proposals(target: Tokenizer, draft: TokenModel, text: str, drafts: int) -> list[Proposal]:
    """Return the paths of the draft, each with its text encoded for the target.

    The text is encoded by itself, as new text behind what is kept.
    """
    return [
        proposal._replace(
            tokens=encode(target, decode(draft.tokenizer, proposal.path), "draft's text", "target.tokenizer")
        )
        for proposal in paths(draft, text, drafts)
    ]
