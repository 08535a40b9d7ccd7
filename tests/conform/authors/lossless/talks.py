"""Lossless: it prints, warns, logs, and writes to standard error in every call."""

import logging
import sys
import warnings

import numpy as np

from specsim.conform import Subject

logging.basicConfig(level=logging.DEBUG)
log = logging.getLogger("engine")
print("engine: loading")


def verify(p, q, drafts, random):
    print("drafts", drafts)
    warnings.warn("this interface is deprecated", DeprecationWarning, stacklevel=2)
    log.info("verifying %s", drafts)
    sys.stderr.write("step\n")
    x = drafts[0]
    if random.random() * q[x] < p[x]:
        return x
    res = np.maximum(p - q, 0)
    return random.choice(len(p), p=res / res.sum())


def subject():
    return Subject("talks", "step", verify, sizes=(1,))
