"""Jacobi, but a slot keeps its old token and gets the newest row as the law that it is said to come from."""

from specsim.process import jacobi
from specsim.process.jacobi import *

KILLED_BY = "law_is_the_targets"


def advance(state, rows, rule, u):
    kept_old = jacobi.advance(state._replace(carry="old"), rows, rule, u)
    newest = jacobi.advance(state, rows, rule, u)
    return newest._replace(text=kept_old.text)
