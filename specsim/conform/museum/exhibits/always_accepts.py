"""The coin is the constant 0."""

from specsim.conform.museum._frames import chain

WRONG = "A platform without the random function gets the coin 0, which accepts every draft."
THREAD = "https://github.com/vllm-project/vllm-ascend/issues/13730"
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = chain(__name__, accepts=lambda p, q, i, x, random: True)
