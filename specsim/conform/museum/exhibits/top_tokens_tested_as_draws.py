"""The likeliest tokens are certain candidates, and are tested as if they had been drawn."""

from functools import partial

from specsim.conform.museum._frames import recursive, step, without

WRONG = "Top-k candidates are tested with the softmax probability of the draft, where one-hot laws belong."
THREAD = "https://github.com/apple/ml-recurrent-drafter/issues/6"
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = step(__name__, partial(recursive, after=without), sizes=(2,), scheme="greedy")
