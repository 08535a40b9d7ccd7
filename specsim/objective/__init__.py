"""What a draft learns: one file an objective, a number for each row of the target's and the draft's laws."""

from specsim.objective._value import loss

__all__ = ["loss"]
