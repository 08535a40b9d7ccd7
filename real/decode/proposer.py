"""What the decode loop asks of whatever drafts: a record that says how to start, and what is told and asked then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from torch import Tensor

from real.decode.given_text import Along
from real.decode.warping import Warping
from real.models.model import LanguageModel

Draw = Callable[[Tensor, Tensor], Tensor]  # laws (b, V), uniforms (b,) -> tokens (b,)
# The drafts (b,) just drawn and the logits (b, V) of their rows before warping -> whether any text goes on.
More = Callable[[Tensor, Tensor], bool]


class Proposed(NamedTuple):
    """Blocks that a drafter has drawn.

    A controller reads the softmax of `logits`: warped laws say nothing of confidence, at temperature 0 all are one-hot.
    """

    tokens: Tensor  # (b, n)
    laws: Tensor  # (b, n, V): what the tokens were drawn from, after warping
    logits: Tensor  # (b, n, V): before warping; a row whose largest is not finite has no law


class Proposer(Protocol):
    """A drafter at work on a batch of texts. `told` is asked for only if its drafter reads layers of the target."""

    def read(self, i: int, text: Sequence[int]) -> None:
        """Read the beginning of text i, all of its prompt but the last token."""
        ...

    def propose(
        self, texts: Sequence[Sequence[int]], gamma: int, u: Tensor, which: list[int], seen: Tensor | None = None
    ) -> Proposed:
        """Draw gamma tokens after each text.

        Parameters
        ----------
        texts : sequence of b lists of int
            The texts so far: their lengths say what stands, whatever was read or told beyond.
        gamma : int
            Number of tokens, at least 1.
        u : Tensor, shape (b, gamma), float64
            Uniforms.
        which : list of int
            Which texts of the batch these are, increasing.
        seen : Tensor, shape (b, V), bool, optional
            Tokens of the texts, for a repetition penalty.

        Returns
        -------
        Proposed
            gamma drafts of each text. A stepwise drafter, which is given `more` (see `Drafter`), may return fewer.
        """
        ...

    def told(self, which: list[int], starts: list[int], tokens: Tensor, states: Tensor) -> None:
        """Hear what the target made of tokens (b, m) at positions starts, starts + 1, ...: (b, m, layers, hidden).

        Called after each target pass, that of the prompt included; what does not stand is told again.
        """
        ...


@dataclass(frozen=True)
class Drafter:
    """Whatever drafts, before it is started.

    Parameters
    ----------
    layers : tuple of int
        Layers of the target whose states it reads (see `Cache.states`); () for none.
    start : callable
        (target, warping, draw, batch, mark) -> Proposer.
    along : callable
        (target, prompt, text, gamma, warping) -> Along.
    rows : callable, optional
        (target, prompt, text, warping) -> laws (T, V) along a text, of a drafter to whom it does not matter where a
        block starts.
    stepwise : bool
        Its `propose` takes `more=`, a `More` that it asks after every draft but the last, and ends when told no. Others
        draft whole blocks, and a controller decides how much of them is verified: the same texts, at more cost.
    context : int, optional
        Positions that it can read.
    longest : int, optional
        Drafts of a block that it can make.
    """

    layers: tuple[int, ...]
    start: Callable[[LanguageModel, Warping, Draw, int, Callable[[str], None]], Proposer]
    along: Callable[[LanguageModel, list[int], list[int], int, Warping], Along]
    rows: Callable[[LanguageModel, list[int], list[int], Warping], Tensor] | None = None
    stepwise: bool = False
    context: int | None = None
    longest: int | None = None
