"""Is it really lossless? A harness that judges other people's verifiers, by the strongest evidence that can be had.

`judge(subject)` gives a `Report` with a `Verdict` for every property; a `Subject` says what is
called and how.
"""

from specsim.conform.judgement import judge
from specsim.conform.near_ties import Difference, first_difference
from specsim.conform.subject import Model, SamplingParams, Subject
from specsim.conform.verdict import Counterexample, Report, Resemblance, Verdict

__all__ = [
    "Counterexample",
    "Difference",
    "Model",
    "Report",
    "Resemblance",
    "SamplingParams",
    "Subject",
    "Verdict",
    "first_difference",
    "judge",
]
