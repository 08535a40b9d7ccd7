"""Laws at one position: made, compared and warped."""
