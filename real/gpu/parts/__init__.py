"""What `python -m real.gpu` runs, one file a part."""
