"""Studies, which the commands of `specsim-real` run: a folder each, with command, measurement, report."""
