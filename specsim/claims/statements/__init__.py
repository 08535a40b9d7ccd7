"""Statements of the literature on its rules, one file a claim, each settled by computing it.

The folder is the registry: `NAME.py` has

    SOURCE = "arXiv:2403.10444"        # where it is stated
    STATEMENT = "..."                  # what is stated, in one sentence
    def settle() -> Settled            # exact where it can be: verdict, why, and the numbers it rests on

Files whose names begin with an underscore are helpers. `specsim/claims/statements.json` keeps what
each gave; a test computes every one anew.
"""
