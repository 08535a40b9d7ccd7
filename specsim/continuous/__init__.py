r"""Speculation on continuous tokens: rejection between Gaussians, and what replaces refused drafts.

A token is what a chain of Gaussian steps makes. If target and draft share the noise of all steps
but the last, both last steps are Gaussians given it, and one step of rejection keeps the target's
law, whatever the shared noise is (T29).
"""

from specsim.continuous.refused import Emitted, emit, reflection, residual_on_the_line, residual_quantile
from specsim.continuous.steps import Step, gaussian_overlap, gaussian_step, keeps, log_density_ratio

__all__ = [
    "Emitted",
    "Step",
    "emit",
    "gaussian_overlap",
    "gaussian_step",
    "keeps",
    "log_density_ratio",
    "reflection",
    "residual_on_the_line",
    "residual_quantile",
]
