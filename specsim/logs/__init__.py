"""Logs of engines that speculate, one file for each engine; `specsim.logs.read` finds the files in this folder."""
