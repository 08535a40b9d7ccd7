"""The end of a text: at a token, or where its characters hold a string."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from real.decode.loop import Stop, at_tokens
from specsim.base import check


def stopping(tokenizer: Any, strings: Sequence[str] = (), tokens: Iterable[int] = ()) -> Stop:
    """End a text at the first token that is in `tokens` or completes one of `strings`.

    A stopping time of the token sequence, so the law of the ended text is the target's own. The token that completes
    a string is kept whole; `cut` removes what the string and what follows it look like.

    Parameters
    ----------
    tokenizer : PreTrainedTokenizerBase
        Turns tokens into characters.
    strings : sequence of str
        None empty. They are looked for in the new text only, special tokens included.
    tokens : iterable of int
        Ids.

    Returns
    -------
    callable
        As `decode` takes it.

    Raises
    ------
    ValueError
        An empty string.
    """
    check_strings(strings)
    by_token = at_tokens(tokens)
    if not strings:
        return by_token
    # A string of n bytes spans n tokens at most.
    window = max(len(s.encode()) for s in strings) + 1
    # Some decoders strip a leading space: tokens are decoded behind these.
    lead = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    before = len(tokenizer.decode(lead))

    def holds(tail: list[int]) -> bool:
        """Return whether the text of these tokens holds a string, with or without special tokens."""
        shown = (tokenizer.decode(lead + tail, skip_special_tokens=skip)[before:] for skip in (False, True))
        return any(s in text for text in shown for s in strings)

    def ends(text: list[int], safe: int) -> int | None:
        """Return the length at which the text ends, None if it goes on; no end is at `safe` tokens or before."""
        end = by_token(text, safe)
        last = len(text) if end is None else end
        lengths = (n for n in range(safe + 1, last + 1) if holds(text[max(0, n - window) : n]))
        return next(lengths, end)

    return ends


def check_strings(strings: Sequence[str]) -> None:
    """TypeError or ValueError for stop strings that are not a list of texts, none empty."""
    if isinstance(strings, str) or not all(isinstance(s, str) for s in strings):
        raise TypeError(f"stop must be a list of strings, got {check.shown(strings)}")
    if "" in strings:
        raise ValueError(f"stop[{list(strings).index('')}] is an empty string: every text would end at once")


def cut(text: str, strings: Sequence[str]) -> str:
    """Return the text before the first of the strings."""
    places = [text.index(s) for s in strings if s in text]
    return text[: min(places)] if places else text


class Stream:
    """Pass a text on piece by piece: a character once all its bytes are there, a stop string never.

    Parameters
    ----------
    read : callable
        Characters of all new tokens so far.
    strings : sequence of str
        Stop strings.
    say : callable
        Told each piece.
    """

    def __init__(self, read: Callable[[list[int]], str], strings: Sequence[str], say: Callable[[str], None]) -> None:
        self._read, self._strings, self._say = read, strings, say
        self._tokens: list[int] = []
        self._said = 0

    def tell(self, i: int, new: list[int]) -> None:
        """Take the tokens of a block."""
        self._tokens += new
        text = cut(self._read(self._tokens), self._strings)
        # Leave out bytes of a character that is not whole yet, and the beginning of a stop string.
        sure = text.rstrip("\ufffd")
        begun = [n for s in self._strings for n in range(1, len(s)) if sure.endswith(s[:n])]
        self._show(sure[: len(sure) - max(begun, default=0)])

    def finish(self) -> None:
        """Pass on the text that was held back."""
        self._show(cut(self._read(self._tokens), self._strings))

    def _show(self, text: str) -> None:
        """Pass on the characters beyond those that were passed on before."""
        if len(text) > self._said:
            self._say(text[self._said :])
            self._said = len(text)
