"""Tree rules at equal node budgets, on toy models taken from a real pair."""
