"""What a rule does, by enumeration, in rationals where the laws are."""
