"""Tokenizers small enough to enumerate: a vocabulary of strings, and how a text becomes tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from specsim.base import check, limits


class Tokenizer(NamedTuple):
    """A vocabulary, and the order in which neighbours are merged.

    `merges` are pairs of tokens, the first ones first, as byte-pair encoding learns them. Without them the
    longest token that fits is taken, from left to right. `small_tokenizer` makes one.

    Examples
    --------
    >>> small_tokenizer(["a", "b", "ab"])
    Tokenizer(tokens=('a', 'b', 'ab'), merges=None)
    """

    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...] | None = None


def small_tokenizer(tokens: Sequence[str], merges: Sequence[tuple[str, str]] | None = None) -> Tokenizer:
    """Return a tokenizer that can write every text of its alphabet.

    Parameters
    ----------
    tokens : sequence of str
        The vocabulary in the order of its ids. Its alphabet is the tokens of one character.
    merges : sequence of (str, str), optional
        Pairs of tokens that become one, in the order in which they are merged. Without them a text is cut
        into the longest tokens that fit, from left to right.

    Returns
    -------
    Tokenizer
        A record of both.

    Raises
    ------
    ValueError
        A token that is empty, stands twice, or has a character that is no token; a merge of what are no
        tokens, or into none.

    References
    ----------
    Sennrich, Haddow and Birch 2016, arXiv:1508.07909 (merges).

    Examples
    --------
    >>> encode(small_tokenizer(["a", "b", "ab"]), "aab")
    (0, 2)
    """
    if isinstance(tokens, (bytes, Mapping)) or not isinstance(tokens, Iterable):
        raise TypeError(f"tokens must be a list of texts, got {check.shown(tokens)}")
    words = tuple(tokens)
    places: dict[str, int] = {}
    for i, word in enumerate(words):
        if not isinstance(word, str) or not word:
            raise ValueError(f"tokens[{i}] is {check.shown(word)}; expected a text of at least one character")
        if word in places:
            raise ValueError(f"tokens[{i}] is {word!r}, which is tokens[{places[word]}], too; expected it once")
        places[word] = i
    check.integer(len(words), "the number of tokens", 1, limits.MAX_COUNT)
    for i, word in enumerate(words):
        for character in word:
            if character not in places:
                raise ValueError(f"tokens[{i}] is {word!r}, but its character {character!r} is no token by itself")
    if merges is None:
        return Tokenizer(words)

    # Merges, whose parts and wholes are tokens.
    if isinstance(merges, (str, bytes, Mapping)) or not isinstance(merges, Iterable):
        raise TypeError(f"merges must be a list of pairs of tokens, got {check.shown(merges)}")
    pairs = []
    for i, pair in enumerate(merges):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise ValueError(f"merges[{i}] is {check.shown(pair)}; expected a pair of tokens")
        left, right = pair
        if any(word not in places for word in (left, right, left + right)):
            raise ValueError(f"merges[{i}] is {left!r} + {right!r}; expected two tokens that make up a third")
        pairs.append((left, right))
    return Tokenizer(words, tuple(pairs))


def encode(tokenizer: Tokenizer, text: str, name: str = "text", reader: str = "the tokenizer") -> tuple[int, ...]:
    """Return the ids of a text; ValueError for a character that is no token, with the names of both.

    Examples
    --------
    >>> with_merges = small_tokenizer(["a", "b", "c", "bc", "ab"], [("b", "c"), ("a", "b")])
    >>> encode(with_merges, "abc"), encode(small_tokenizer(with_merges.tokens), "abc")
    ((0, 3), (4, 2))
    """
    places = {word: i for i, word in enumerate(tokenizer.tokens)}
    for place, character in enumerate(text):
        if character not in places:
            known = check.shown(tokenizer.tokens)
            raise ValueError(f"{name}[{place}] is {character!r}, which is no token of {reader}; add it to {known}")
    words = _longest(tokenizer, text) if tokenizer.merges is None else _merged(tokenizer.merges, text)
    return tuple(places[word] for word in words)


def decode(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """Return the text of some ids.

    Examples
    --------
    >>> decode(small_tokenizer(["a", "b", "ab"]), (2, 0))
    'aba'
    """
    return "".join(tokenizer.tokens[i] for i in ids)


def is_canonical(tokenizer: Tokenizer, ids: Sequence[int]) -> bool:
    """Return whether the ids are those that their own text is encoded to.

    Examples
    --------
    >>> small = small_tokenizer(["a", "b", "ab"])
    >>> is_canonical(small, (2,)), is_canonical(small, (0, 1))
    (True, False)
    """
    return encode(tokenizer, decode(tokenizer, ids)) == tuple(ids)


def _longest(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return a text cut into the longest tokens that fit, from left to right."""
    by_length = sorted(tokenizer.tokens, key=len, reverse=True)
    words, place = [], 0
    while place < len(text):
        word = next(word for word in by_length if text.startswith(word, place))
        words.append(word)
        place += len(word)
    return words


def _merged(merges: tuple[tuple[str, str], ...], text: str) -> list[str]:
    """Return a text cut into characters and merged: all pairs of the first merge before any of the second.

    With the merge ("a", "b") the text "aab" becomes ["a", "ab"].
    """
    words = list(text)
    for left, right in merges:
        place = 0
        while place + 1 < len(words):
            if words[place] == left and words[place + 1] == right:
                words[place : place + 2] = [left + right]
            place += 1
    return words
