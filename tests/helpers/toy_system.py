"""A system as a file of its own: small, and with a claim that shows."""

COIN = '''"""A coin is tossed."""

from real.studies.intervals import Estimate
from real.papers.lab.choices import VALUES
from real.papers.lab.contract import AXES as NAMES, Record

NAME = "Coin"
PAPER = "arXiv:0000.00001"
CLAIM = "Heads come 2.0 times as often as tails, at every temperature and without any training of the coin."
AXES = {axis: next(iter(VALUES[axis])) + ": or so" for axis in NAMES}
TEST = "The interval of heads over tails excludes 1."
HEADLINE = "heads over tails"
MODELS = ()
RUNS = []


def run(lab):
    lab.said("tosses")
    RUNS.append(lab)
    return Record({"bias": 0.5}, {HEADLINE: Estimate(2.0, 1.5, 2.5)}, {"heads, predicted": Estimate(0.6, 0.6, 0.6)})


def verdict(record):
    return "shows" if record.measured[HEADLINE].low > 1 else "does not show"
'''
