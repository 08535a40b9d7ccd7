"""Toy models whose laws are known: automata, texts, recorded rows."""
