"""Tables and pictures that the code generates."""
