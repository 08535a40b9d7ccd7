"""What `python -m real.gpu` runs, one file a part: their names, and the time of each, for whoever needs no torch."""

NAMES = ("parity", "shapes", "pair", "rules", "trees")
BUDGET = 480.0  # seconds after which a part begins no other task
