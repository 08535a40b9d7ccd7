"""Names a theorem that nobody wrote."""

from specsim.verify.step.rejection import *

KILLED_BY = "contract"
THEOREM = "T99"
