"""Hours of everything at once: see tools/soak."""
