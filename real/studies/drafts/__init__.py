"""Ways to draw several drafts and rules to verify them, on a pair's own laws."""
