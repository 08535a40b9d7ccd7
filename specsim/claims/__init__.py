"""Published numbers and statements, and whether they can be true."""
