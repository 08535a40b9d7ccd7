"""Conditional survival without the clip: the ratio q/p of a text can exceed 1."""

from array_api_compat import array_namespace

from specsim.verify.chain.tokenwise import *

KILLED_BY = "survival_given_text"


def survival(ratio):
    return array_namespace(ratio).cumulative_prod(ratio, axis=-1)
