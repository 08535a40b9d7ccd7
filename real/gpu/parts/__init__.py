"""What `python -m real.gpu` runs, one file a part: their names, and the time of each, for whoever needs no torch."""

NAMES = ("parity", "shapes", "pair", "rules", "trees", "smollm2")
# Minutes of a run: under the ten that a command may take on many borrowed machines, with room to
# copy records back.
MINUTES = 8.0
