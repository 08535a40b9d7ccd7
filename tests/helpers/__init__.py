"""What several tests share. No test imports another test."""
