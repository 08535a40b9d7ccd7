"""The heuristic, which writes the next length into the state that it was given."""

from specsim.control import heuristic
from specsim.control.heuristic import *

KILLED_BY = "states_are_values"


def learn(state, kept, drafted):
    state.length[...] = heuristic.learn(state, kept, drafted).length
    return state
