"""Processes say how the places of a text are filled, from the rows of any model: one file each."""
