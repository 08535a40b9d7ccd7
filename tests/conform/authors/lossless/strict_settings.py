"""Lossless: the module makes NumPy's and Python's warnings errors, changes torch's defaults and seeds everything."""

import random
import warnings

import numpy as np
import torch

from specsim.conform import Subject

np.seterr(all="raise")
warnings.simplefilter("error")
torch.use_deterministic_algorithms(True)
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
np.set_printoptions(precision=2, suppress=True)
random.seed(0), np.random.seed(0), torch.manual_seed(0)


def verify(p, q, drafts):
    x = drafts[0]
    if torch.rand(()) * q[x] < p[x]:
        return x
    return torch.multinomial((p - q).clamp(min=0), 1)[0]


def subject():
    return Subject("strict_settings", "step", verify, arrays="torch", randomness="global", sizes=(1,))
