"""Draft schemes say how candidates are drawn from q, one file each (`specsim.types.DraftScheme`)."""
