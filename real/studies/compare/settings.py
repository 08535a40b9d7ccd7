"""The settings of `compare`, checked before torch is loaded."""

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
    """The settings of `compare`: lengths, tokens per text, warping, rules, seed, parameters.

    `calibrated` are the lengths whose cycles are timed (None: all of them). `params` are words as
    epsilon=0.2, each for every rule that has the parameter. `timed_prompts` is how many prompts are
    decoded one by one and timed; all prompts are then decoded in one batch besides, for tau. None
    times all.
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
        # Lengths.
        for name, lengths in (("gammas", self.gammas), ("calibrated", self.timed)):
            for gamma in lengths:
                check.integer(gamma, name, 1)
            if not lengths:
                raise ValueError(f"{name} is empty: give at least one speculation length")
            if len(set(lengths)) < len(lengths):
                raise ValueError(f"{name} {', '.join(map(str, lengths))} names a length twice")

        # Rules, tokens, prompts and the seed.
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

        # A verifier for each rule with its parameters; no word may be left over.
        known: set[str] = set()
        for rule in self.rules:
            params = params_of(rule, self.params)
            known |= params.keys()
            self._verifiers[rule] = decoding_rule(rule, params)
            require_lossless(rule, temperature=self.warping.temperature, params=params)
        for word in self.params:
            if word.partition("=")[0] not in known:
                raise ValueError(f"param {word!r} is a parameter of none of the rules {', '.join(self.rules)}")

    def verifier(self, rule: str) -> ModuleType | Stepwise | Raced:
        """Return the object that runs in the decode loop under the name of a rule.

        Each time the same one.
        """
        return self._verifiers[rule]  # type: ignore[no-any-return]

    @property
    def step_rules(self) -> list[Stepwise | Raced]:
        """Return the step and coupled rules among them, for which texts are scored on whole rows."""
        return [rule for rule in self._verifiers.values() if isinstance(rule, (Stepwise, Raced))]

    @property
    def timed(self) -> tuple[int, ...]:
        """Return the lengths whose cycles are timed; those of other lengths are extrapolated."""
        return self.gammas if self.calibrated is None else self.calibrated

    def count_timed(self, prompts: int) -> int:
        """Return how many of so many prompts are decoded one by one and timed."""
        return prompts if self.timed_prompts is None else min(self.timed_prompts, prompts)

    @property
    def jobs(self) -> list[Job]:
        """Return speculative decodings of a prompt, in order."""
        return [Job(*pair) for pair in itertools.product(self.gammas, self.rules)]

    @property
    def plain(self) -> Job:
        """Return plain decoding, in which no rule takes part."""
        return Job(0, self.rules[0])

    @property
    def intervals(self) -> int:
        """Return how many intervals of measured less predicted hold at once.

        There is one for each rule's tau, and one for each gain in tau.
        """
        return len(self.gammas) * (2 * len(self.rules) - 1)


def params_of(rule: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the parameters among these words that a rule has; a word without "=" is refused."""
    verifier = decoding_rule(rule)
    module = verifier[0] if isinstance(verifier, (Stepwise, Raced)) else verifier
    names = discover.parameters(module)
    of_rule = [word for word in words if "=" not in word or word.partition("=")[0] in names]
    return parsed_params(module, of_rule)
