"""Exact laws of rules, by enumeration; in rationals where the laws are."""
