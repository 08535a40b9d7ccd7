"""Draft and target from the same variates: each side reads its own law and the shared races, nothing of the other.

A coupled rule needs no q to verify, and its token does not depend on who drafted: the price is some
acceptance. One file a rule; `propose` is the drafter's half, `verify` the target's.
"""

from specsim.verify.coupled._front import acceptance, coupled_rule, emit

__all__ = ["acceptance", "coupled_rule", "emit"]
