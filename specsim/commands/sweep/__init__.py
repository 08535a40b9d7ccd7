"""The command `specsim sweep`: a study (`study`), its rows (`work`, `kinds`), workers (`pools`), its file (`store`)."""
