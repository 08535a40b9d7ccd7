"""The temperature is applied twice."""

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import warped

WRONG = "The target's logits are divided by the temperature by the sampler and again by the verifier."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "parameters"

subject = chain(__name__, laws=lambda p, q, params: (warped(warped(p, params), params), warped(q, params)), warps=True)
