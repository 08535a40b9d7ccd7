"""Writes the way its draft is drawn with a capital, which no scheme has."""

from specsim.verify.step.rejection import *

KILLED_BY = "contract"
DRAFTS = "Single"
