"""The target is verified at temperature 1."""

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import warped

WRONG = "Sampling parameters reach the draft only; the target's law stays raw in test, correction and bonus."
THREAD = "https://github.com/vllm-project/vllm/pull/10198"
EXPECTED = "convicted"
PROPERTY = "parameters"

subject = chain(__name__, laws=lambda p, q, params: (p, warped(q, params)), warps=True)
