"""Jacobi without a word on how many uniforms it reads."""

from specsim.process.jacobi import *

KILLED_BY = "contract"
uniforms = None
