"""What is asked of a subject, one file a property; the folder is the registry.

Every file has KINDS, the kinds of subject that it concerns, ``cases(subject)``, what it looks at (nothing where it does
not concern the subject: the time is shared among all of them), and ``verdict(subject, trial) -> Verdict | None`` (None:
it does not concern this one, and NEEDS says what is missing); ``observe(trial, case)`` is the observation of a case.
"""
