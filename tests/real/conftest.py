"""Threads of torch in the tests of real/."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
