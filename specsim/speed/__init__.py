"""From acceptance and time to a decision: speedups, lengths, shapes, methods."""
