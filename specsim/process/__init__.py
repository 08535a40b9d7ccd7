"""Processes say how the places of a text are filled, one file each; any model may give the rows."""
