"""What the commands of `specsim-real` measure: a folder a study, each with its command, measurement and report."""
