"""Predicted times on random weights, under a forced law of the accepted length."""
