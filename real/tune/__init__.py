"""Training against a frozen target: a loop that can be stopped, and the target's states, computed once."""
