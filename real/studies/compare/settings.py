"""What `compare` runs, checked before torch is loaded."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from real.decode.warping import Warping
from real.studies.compare.record import Job
from specsim import discover
from specsim.base import check
from specsim.exact.guarantee import require_lossless
from specsim.verify.lookup import decoding_rule
from specsim.verify.params import parsed_params
from specsim.verify.raced import Raced
from specsim.verify.stepwise import Stepwise


@dataclass(frozen=True)
class Settings:
    """What `compare` runs: gammas, those timed (None: all of them), tokens per text, sampling, rules, seed, parameters.

    `params` are words as epsilon=0.2, each for every rule that has the parameter. `timed_prompts` is how many prompts
    are decoded one by one and timed; all prompts are then decoded in one batch besides, for tau. None times all.
    """

    gammas: tuple[int, ...] = tuple(range(1, 9))
    calibrated: tuple[int, ...] | None = None
    max_tokens: int = 64
    warping: Warping = Warping()  # noqa: RUF009 - frozen
    rules: tuple[str, ...] = ("tokenwise",)
    seed: int = 0
    params: tuple[str, ...] = ()
    timed_prompts: int | None = None
    _verifiers: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, lengths in (("gammas", self.gammas), ("calibrated", self.timed)):
            for gamma in lengths:
                check.integer(gamma, name, 1)
            if not lengths:
                raise ValueError(f"{name} is empty: give at least one speculation length")
            if len(set(lengths)) < len(lengths):
                raise ValueError(f"{name} {', '.join(map(str, lengths))} names a length twice")
        if not self.rules or len(set(self.rules)) < len(self.rules):
            raise ValueError(f"rules {', '.join(self.rules)!r}: give at least one, and none twice")
        check.integer(self.max_tokens, "max_tokens", 1)
        if self.timed_prompts is not None:
            check.integer(self.timed_prompts, "timed", 1)
            if len(self.rules) > 1:
                raise ValueError(f"timed={self.timed_prompts} is for one rule, and {len(self.rules)} are compared")
        check.integer(self.seed, "seed", 0)
        if self.seed >= 1 << 63:
            raise ValueError(f"seed must be below 2^63, got {self.seed}")
        for rule in self.rules:
            own = own_params(rule, self.params)
            self._verifiers[rule] = decoding_rule(rule, own)
            require_lossless(rule, temperature=self.warping.temperature, params=own)
        taken = {name for rule in self.rules for name in own_params(rule, self.params)}
        for word in self.params:
            if word.partition("=")[0] not in taken:
                raise ValueError(f"param {word!r} is a parameter of none of the rules {', '.join(self.rules)}")

    def verifier(self, rule: str) -> ModuleType | Stepwise | Raced:
        """What runs in the decode loop under the name of a rule: the same object each time."""
        return self._verifiers[rule]  # type: ignore[no-any-return]

    @property
    def step_rules(self) -> list[Stepwise | Raced]:
        """The step and coupled rules among them, for which texts are scored on whole rows."""
        return [rule for rule in self._verifiers.values() if isinstance(rule, (Stepwise, Raced))]

    @property
    def timed(self) -> tuple[int, ...]:
        """The lengths whose cycles are timed; those of other lengths are extrapolated."""
        return self.gammas if self.calibrated is None else self.calibrated

    def count_timed(self, prompts: int) -> int:
        """Return how many of so many prompts are decoded one by one and timed."""
        return prompts if self.timed_prompts is None else min(self.timed_prompts, prompts)

    @property
    def jobs(self) -> list[Job]:
        """Speculative decodings of a prompt, in order."""
        return [Job(*pair) for pair in itertools.product(self.gammas, self.rules)]

    @property
    def plain(self) -> Job:
        """Plain decoding; no rule has a say in it."""
        return Job(0, self.rules[0])

    @property
    def intervals(self) -> int:
        """How many intervals of measured less predicted hold at once: of each rule's tau, and of gains in tau."""
        return len(self.gammas) * (2 * len(self.rules) - 1)


def own_params(rule: str, words: Sequence[str]) -> dict[str, Any]:
    """The parameters among these words that a rule has."""
    found = decoding_rule(rule)
    module = found[0] if isinstance(found, (Stepwise, Raced)) else found
    mine = [word for word in words if "=" not in word or word.partition("=")[0] in discover.parameters(module)]
    return parsed_params(module, mine)
