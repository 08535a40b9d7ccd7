"""Lossless: the verifier is in a package beside the file, with relative imports, and is called `verify`."""

from engine import verify

from specsim.conform import Subject


def subject():
    return Subject("adapter", "chain", verify, sizes=(1, 2))
