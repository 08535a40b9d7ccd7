"""Largest values of arguments: beyond them an answer would take for ever, or all memory."""

MAX_INTEGER = 2**53  # of any number: beyond it floats no longer tell neighbours apart
MAX_KEY = 2**64 - 1  # of a seed or a place in a generator of uniforms
MAX_GAMMA = 4096  # drafts of one block
MAX_SUMMED = 1024  # drafts of one block whose outcomes are summed over or decoded, one by one
MAX_DRAFTS = 2**16  # candidates for one position
MAX_NODES = 4096  # of one tree
MAX_COUNT = 2**24  # of numbers that are drawn, or of rows, at once: 128 MiB of float64
MAX_BATCH = 2**14  # sequences of a schedule, which tries every batch
MAX_RUNS = 4096  # settings that one command measures, one after the other
MAX_THREADS = 1024  # of one process
MAX_TOKENS = 2**17  # of one request: a minute
