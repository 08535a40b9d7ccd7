"""Static lengths without a word on what is learned."""

from specsim.control.static import *

KILLED_BY = "contract"
learn = None
