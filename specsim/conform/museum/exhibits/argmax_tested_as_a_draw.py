"""The draft model is greedy, and its softmax is taken for the law of its drafts."""

from specsim.conform.museum._frames import decoder

WRONG = "The draft is always the likeliest token, and is tested with its softmax probability."
THREAD = "https://github.com/huggingface/transformers/issues/32867"
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = decoder(__name__, proposal=lambda q, random, _: int(q.argmax()))
