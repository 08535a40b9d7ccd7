"""The commands of `specsim`, one file each, named after the command."""
