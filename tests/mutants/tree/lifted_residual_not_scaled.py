"""Lifting whose residual is that of the whole target, (p - w)+ where it should be (a p - w)+."""

from types import FunctionType

from specsim.base.arrays import normalize_or
from specsim.verify.tree import lifted
from specsim.verify.tree.lifted import *
from specsim.verify.tree.lifted import _law

KILLED_BY = "strongly_lossless"


def prepare(p, q, tree, **params):
    rows = []

    def law(rule, target, q, level, draws):
        xp = array_namespace(target)
        whole = p[..., level.rows, :]
        none = xp.zeros_like(whole[..., :1])
        rows.append((level, _law(rule, xp.concat([whole, none], axis=-1), q, level, draws)[..., :-1]))
        return _law(rule, target, q, level, draws)

    code = lifted.prepare
    plan = FunctionType(code.__code__, vars(lifted) | {"_law": law}, argdefs=code.__defaults__)(p, q, tree, **params)
    ends = [lifted._without_children(row, level) for level, row in rows]
    return plan._replace(rows=normalize_or(lifted.by_node(plan.levels, ends), p))
