"""The laboratory of the systems: their contract, shared measurements, records and commands.

`contract` states what a file of `real.papers.systems` has; `records` runs it and saves its numbers;
`report` shows them.
"""
