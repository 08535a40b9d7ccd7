"""Tree rules that change the target, as they were shipped: one file a rule, each a specsim.types.TreeRule.

They stand apart from `specsim.verify.tree`, whose rules decode loops and tables may take to be
lossless. A caller who wants one hands the module over: `specsim.expected_kept(...,
rule=specsim.verify.lossy_tree.spectr_gbv, scheme="paths")`.
"""
