"""The optimum for K i.i.d. drafts: Pr[all in H] = q(H)^K, so a prefix of the order of p/q attains it (T03)."""

from specsim.bounds.schemes._prefix import optimum, value

__all__ = ["optimum", "value"]
