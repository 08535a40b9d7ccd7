"""The laboratory of the systems: their contract, what several of them measure with, their records and their commands.

`contract` states what a file of `real.papers.systems` has; `records` runs it and keeps what it found; `report` shows
that.
"""
