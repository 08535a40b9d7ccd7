"""When drafting stops: one file a controller, on signals of the draft alone."""

from specsim.control._signals import block_lengths, row_signals

__all__ = ["block_lengths", "row_signals"]
