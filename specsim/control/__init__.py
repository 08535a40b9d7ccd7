"""Controllers decide when drafting stops, from signals of the draft alone: one file each."""

from specsim.control._signals import block_lengths, row_signals

__all__ = ["block_lengths", "row_signals"]
