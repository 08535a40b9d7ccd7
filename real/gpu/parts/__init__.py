"""The parts that `python -m real.gpu` runs, one file each: their names and time, without torch."""

NAMES = ("parity", "shapes", "pair", "rules", "trees", "smollm2")
# Minutes of a run: under the ten that a command may take on many borrowed machines, with room to
# copy records back.
MINUTES = 8.0
