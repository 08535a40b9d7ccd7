"""The length of each block: a controller decides draft by draft, for each text of a batch by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from real.signals import logit_signals
from specsim import discover
from specsim.types import Controller, Signals


class Control:
    """The states of a controller for the texts of a batch.

    Parameters
    ----------
    controller : Controller
        Decides.
    batch : int
        Number of texts.
    """

    def __init__(self, controller: Controller, batch: int) -> None:
        # It may have names that the Protocol does not have.
        module: Any = controller
        self._controller, self._sees = module, discover.controller_facts(module).see
        self._states: list[Any] = [controller.start(()) for _ in range(batch)]

    def more(self, i: int, signals: Signals) -> bool:
        """Show the controller the draft that text i has just drawn; return whether it draws another."""
        if self._sees:
            self._states[i] = self._controller.see(self._states[i], signals)
        return bool(self._controller.more(self._states[i], signals))

    def learn(self, i: int, kept: int, drafted: int) -> None:
        """Tell the controller how many drafts of a block of text i were drawn, and how many accepted."""
        self._states[i] = self._controller.learn(self._states[i], np.asarray(kept), np.asarray(drafted))


class Growing:
    """The blocks of some texts while they are drafted; called after a draft, it says whether any of them goes on.

    A text decides with its own signals alone, so that its block does not depend on its batch.

    Parameters
    ----------
    control : Control
        Of the batch.
    which : list of int
        The texts.
    most : int
        Drafts that a block may have.
    """

    def __init__(self, control: Control, which: list[int], most: int) -> None:
        self.lengths = [most] * len(which)
        self._control, self._which, self._most, self._made = control, which, most, 0

    def __call__(self, tokens: Tensor, logits: Tensor) -> bool:
        """Decide, after drafts (b,) of rows with logits (b, V) before warping, about the next draft of each text."""
        self._made += 1
        all_signals = logit_signals(logits, tokens, self._made)
        for row, i in enumerate(self._which):
            if self.lengths[row] == self._most:
                signals = Signals(*(np.asarray(values[row]) for values in all_signals))
                if not self._control.more(i, signals):
                    self.lengths[row] = self._made
        return max(self.lengths) == self._most

    def rest(self, tokens: Tensor, logits: Tensor) -> None:
        """Decide about drafts (b, n) with logits (b, n, V) that were drawn without asking; show the last draft, too."""
        while self._made < min(self._most, tokens.shape[1]):
            self(tokens[:, self._made], logits[:, self._made])
