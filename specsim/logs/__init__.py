"""What engines print of speculation, one file for each; the folder is read (`specsim.logs.read`), no other list is."""
