"""Properties that a subject is judged by, one file each; the folder is the registry.

Every file has KINDS, the kinds of subject that it concerns; ``cases(subject)``, the cases that it
looks at (none where it does not concern the subject: the time is shared among all cases); and
``verdict(subject, trial) -> Verdict | None`` (None: it does not concern this subject, and NEEDS
says what is missing). ``observe(trial, case)`` observes a case.
"""
