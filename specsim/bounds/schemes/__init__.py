"""The optimum of each draft scheme, one file a scheme, named as in `specsim.draft`."""
