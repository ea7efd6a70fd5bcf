"""Models of partial rankings with ties."""
