"""Times of passes that a user measured: the files they stand in, and the costs they make."""
