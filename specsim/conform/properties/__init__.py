"""What is asked of a subject, one file a property; the folder is the registry.

Every file has KINDS, the kinds of subject that it concerns, and ``verdict(subject, watch) -> Verdict | None`` (None: it
does not concern this one, and NEEDS says what is missing); ``watch(case)`` is the observation of a case.
"""
