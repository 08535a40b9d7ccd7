"""Leaves out Pr[all drafts in H], so no bound can be computed for it."""

from specsim.draft.iid import draw, probability, uniforms

KILLED_BY = "contract"

__all__ = ["draw", "probability", "uniforms"]
