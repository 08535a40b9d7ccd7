"""The heuristic, where every text of a batch hears whether all drafts of the batch were kept."""

from specsim.control import heuristic
from specsim.control.heuristic import *

KILLED_BY = "batches"


def learn(state, kept, drafted):
    return heuristic.learn(state, 0 * kept + kept.sum(), 0 * drafted + drafted.sum())
