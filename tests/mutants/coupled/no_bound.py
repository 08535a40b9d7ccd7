"""A race that states no bound of its own."""

from specsim.verify.coupled.race import *

KILLED_BY = "contract"

bound = None
