"""Largest values of arguments: beyond them an answer would take for ever, or all memory."""

# Any whole number: beyond this one floats no longer tell neighbouring integers apart.
MAX_INTEGER = 2**53
# A seed, or a place in a generator of uniforms: what 64 bits hold.
MAX_KEY = 2**64 - 1
# Drafts of one block.
MAX_GAMMA = 4096
# Drafts of one block whose outcomes are summed over, or decoded, one by one.
MAX_SUMMED = 1024
# Candidates for one position.
MAX_DRAFTS = 2**16
# Nodes of one tree.
MAX_NODES = 4096
# Numbers, or rows, that are drawn at once: 128 MiB of float64.
MAX_COUNT = 2**24
# Sequences of a schedule, which tries every batch.
MAX_BATCH = 2**14
# Settings that one command measures, one after the other.
MAX_RUNS = 4096
# Threads of one process.
MAX_THREADS = 1024
# Tokens of one request: a minute of work.
MAX_TOKENS = 2**17
