"""What others printed, and whether it can be."""
