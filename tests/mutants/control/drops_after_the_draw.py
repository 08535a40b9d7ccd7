"""A threshold whose loop drops the draft that it finds too unlikely, after it has been drawn."""

from specsim.control.threshold import *

KILLED_BY = "stopping_keeps_the_law"


def block(state, draw, most):
    for made in range(most):
        if draw().own < state.eta:
            return state, made
    return state, most
