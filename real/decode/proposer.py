"""The interface of drafters in the decode loop: a record that starts one, and the calls that it then receives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from torch import Tensor

from real.decode.given_text import Along
from real.decode.warping import Warping
from real.models.model import LanguageModel

# Laws (b, V), uniforms (b,) -> tokens (b,).
Draw = Callable[[Tensor, Tensor], Tensor]
# The drafts (b,) just drawn and the logits (b, V) of their rows before warping -> whether any text goes on.
More = Callable[[Tensor, Tensor], bool]


class Proposed(NamedTuple):
    """Blocks that a drafter has drawn.

    tokens: shape (b, n). laws: shape (b, n, V), from which they were drawn, after warping. logits: shape (b, n, V),
    before warping; a row whose largest is not finite has no law. A controller reads the softmax of `logits`: warped
    laws do not show confidence, at temperature 0 all are one-hot.
    """

    tokens: Tensor
    laws: Tensor
    logits: Tensor


class Proposer(Protocol):
    """A drafter at work on a batch of texts. `told` is called only if its drafter reads layers of the target."""

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
        """Receive the target's states (b, m, layers, hidden) for tokens (b, m) at positions starts, starts + 1, ...

        Called after each target pass, that of the prompt included. Rejected positions are passed again later.
        """
        ...


@dataclass(frozen=True)
class Drafter:
    """A drafter before it is started.

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
    block_rows : callable, optional
        (target, prompt, text, gamma, warping) -> laws (T, gamma, V) of the drafts of a block that starts before each
        token of a text, of a drafter of one pass: its drafts do not see each other.
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
    block_rows: Callable[[LanguageModel, list[int], list[int], int, Warping], Tensor] | None = None
    stepwise: bool = False
    context: int | None = None
    longest: int | None = None
