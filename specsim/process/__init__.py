"""How the positions of a text are filled: one file a process, on whatever rows a model gives."""
