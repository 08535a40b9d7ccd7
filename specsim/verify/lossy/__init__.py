"""Chain rules that change the target, as they were shipped: one file a rule, found by `specsim.verify.lookup`.

They stand apart from `specsim.verify.chain`, whose rules decode loops and tables may take to be
lossless. A text is filled by one of them only where it is asked for twice: `specsim.fill(...,
rule="lumina", lossy="lumina")`.
"""
