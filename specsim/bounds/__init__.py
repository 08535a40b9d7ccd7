"""What no lossless rule can beat."""
