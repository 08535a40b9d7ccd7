"""Acceptance thresholds that state what is forced as their bias, though p would draw some of it, too."""

from array_api_compat import array_namespace

from specsim.verify.step.accept_threshold import *

KILLED_BY = "output_is_target"


def bias(plan):
    return array_namespace(plan.forced).sum(plan.forced, axis=-1)
