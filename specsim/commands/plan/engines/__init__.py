"""What engines are told, one file each: their own words for a drafter, its length at each batch, and its acceptance."""
