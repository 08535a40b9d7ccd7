"""Write a plan in the words of an engine, one file each: its drafter, the length at each batch, its acceptance."""
