"""Tools for the tests of a verifier: is it lossless?

Exact where that is possible (the law of a sampler in rationals, by forking its uniforms), otherwise
statistical with a stated false-alarm rate and a stated smallest detectable distance. Only the
strategies (`rational_laws`, `float_laws`, `tables`, `edge_uniforms`) need the extra ``testing``,
which brings hypothesis.
"""

from specsim.testing.cases import drafted_tuples, grid
from specsim.testing.sampler import sampler_law
from specsim.testing.statistics import LawTest, assert_law, law_test
from specsim.testing.strategies import edge_uniforms, float_laws, rational_laws, tables
from specsim.testing.suite import assert_lossless_batch, lossless_suite

__all__ = [
    "LawTest",
    "assert_law",
    "assert_lossless_batch",
    "drafted_tuples",
    "edge_uniforms",
    "float_laws",
    "grid",
    "law_test",
    "lossless_suite",
    "rational_laws",
    "sampler_law",
    "tables",
]
