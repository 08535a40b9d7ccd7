"""Static lengths whose loop draws a draft ahead, and hands both over only if the second is likely."""

from specsim.control.static import *

KILLED_BY = "stopping_keeps_the_law"


def block(state, draw, most):
    made = min(2, most)
    told = [draw() for _ in range(made)]
    return state, made - 1 if made == 2 and told[1].own < 0.5 else made
