"""The third of several siblings is kept wherever anything of the target is left."""

from pathlib import Path

from helpers.rules import load

from specsim.verify.tree import tokenwise
from specsim.verify.tree.tokenwise import *

CHILDREN = ("iid",)
STEPS = {"iid": "recursive"}
KILLED_BY = "strongly_lossless"
STEP = load(Path(__file__).parents[1] / "step" / "third_kept_where_any_is_left.py")


def prepare(p, q, tree):
    return tokenwise.prepare(p, q, tree)._replace(step=STEP)
